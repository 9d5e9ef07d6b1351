// The source of the answers: the server that sent this page, or the data in a single-file page.

const EMBEDDED = document.getElementById("embedded");
const DATA = EMBEDDED === null ? null : JSON.parse(EMBEDDED.textContent);

export class Problem extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function isFile() {
  return DATA !== null;
}

export function fileNotes() {
  return DATA === null ? [] : DATA.notes;
}

export async function ask(question, parameters = {}) {
  const query = Object.entries(parameters).filter(([, value]) => value !== null && value !== "");
  query.sort(([one], [other]) => (one < other ? -1 : 1));
  return DATA === null ? fromServer(question, new URLSearchParams(query)) : fromFile(question, query);
}

function fromFile(question, query) {
  const name = [question, ...query.map(([key, value]) => `${key}=${value}`)].join("\n");
  if (!Object.hasOwn(DATA.places, name)) {
    throw new Problem(
      "not_in_this_file",
      "This file does not contain the data. Run `omnigraph explore` on the repository to see all data.",
    );
  }
  const answer = DATA.answers[DATA.places[name]];
  if (answer.error) throw new Problem(answer.error.kind, answer.error.message);
  return answer;
}

async function fromServer(question, query) {
  let answer;
  try {
    const reply = await fetch(`api/${question}?${query}`, { cache: "no-store" });
    answer = await reply.json();
  } catch {
    throw new Problem("no_answer", "The server of this page does not respond. Is `omnigraph explore` still running?");
  }
  if (answer.error) throw new Problem(answer.error.kind, answer.error.message);
  return answer;
}
