// Where answers come from: the server that sent this page, or the data within a single file.

const EMBEDDED = document.getElementById("embedded");
const KEPT = EMBEDDED === null ? null : JSON.parse(EMBEDDED.textContent);

export class Problem extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function isFile() {
  return KEPT !== null;
}

export function fileNotes() {
  return KEPT === null ? [] : KEPT.notes;
}

export async function ask(question, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== "");
  given.sort(([one], [other]) => (one < other ? -1 : 1));
  return KEPT === null ? fromServer(question, new URLSearchParams(given)) : fromFile(question, given);
}

function fromFile(question, given) {
  const name = [question, ...given.map(([key, value]) => `${key}=${value}`)].join("\n");
  if (!Object.hasOwn(KEPT.places, name)) {
    throw new Problem(
      "not_in_this_file",
      "This file does not hold that. Run `omnigraph explore` on the repository to see all of it.",
    );
  }
  const answer = KEPT.answers[KEPT.places[name]];
  if (answer.error) throw new Problem(answer.error.kind, answer.error.message);
  return answer;
}

async function fromServer(question, query) {
  let answer;
  try {
    const reply = await fetch(`api/${question}?${query}`, { cache: "no-store" });
    answer = await reply.json();
  } catch {
    throw new Problem("no_answer", "The server of this page does not answer. Was `omnigraph explore` ended?");
  }
  if (answer.error) throw new Problem(answer.error.kind, answer.error.message);
  return answer;
}
