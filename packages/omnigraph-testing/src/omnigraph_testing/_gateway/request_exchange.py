"""One request on its way through the gateway, with what the rules decided on it.

Invariant: the record of the request is complete before the client can see its end, so that
a test that got its reply finds the record. A request whose reply is cut has had its effect by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial

import attrs

from omnigraph_testing._faults import fault_effects as effects
from omnigraph_testing._faults.fault_engine import Decision
from omnigraph_testing._gateway import resignature
from omnigraph_testing._gateway.client_connection import Client
from omnigraph_testing._gateway.gateway_context import Context
from omnigraph_testing._gateway.http_bodies import Body
from omnigraph_testing._gateway.http_heads import RequestHead, ResponseHead
from omnigraph_testing._gateway.s3_protocol import error_reply, operation_of
from omnigraph_testing._gateway.upstream_request import Reply, StoreGone, ask, ask_partly
from omnigraph_testing._threads import in_thread
from omnigraph_testing.errors import EndlessPredicate

__all__ = ["Exchange"]

OK = 200
BAD_GATEWAY = 502
# Verdicts that need the client's whole body before anything is passed on.
NEED_WHOLE_BODY = (
    effects.Answer,
    effects.CutRequest,
    effects.StaleListing,
    effects.TruncateRequest,
    effects.Twice,
)


class Exchange:
    """One request, from its head on."""

    def __init__(self, context: Context, client: Client, head: RequestHead) -> None:
        self._context = context
        self._client = client
        self._head = head
        self._operation = operation_of(head, context.store)
        self._decision = Decision()
        self._body = client.body(head)
        self._status: int | None = None
        self._store_status: int | None = None
        self._bytes_out = 0
        self._trouble: tuple[str, ...] = ()
        self._keep_open = not head.closes
        self._is_over = False
        self._record = context.log.begin(
            self._operation, connection=client.number, now=time.monotonic()
        )

    async def carry_out(self) -> bool:
        """Do it, and return whether the client's connection can go on."""
        try:
            self._decision = await self._decide()
            await self._carry_out(self._decision.verdict)
        except StoreGone:
            self._trouble = ("the store is gone",)
            self._keep_open = False
            await self._answer(BAD_GATEWAY)
        except (asyncio.IncompleteReadError, OSError):
            self._cut()  # the client hung up, or the store did within its reply
        finally:
            self._end()
        return self._keep_open and self._client.is_open

    async def _decide(self) -> Decision:
        faults = self._context.faults
        if not faults.ask_the_test:
            return faults.decide(self._operation)
        try:
            # Other requests go on meanwhile, among them those that a predicate makes itself.
            return await in_thread(partial(faults.decide, self._operation))
        except EndlessPredicate:
            faults.clear()  # or each of those that wait would begin anew when it is cut off
            raise

    async def _carry_out(self, verdict: effects.Effect | None) -> None:
        if isinstance(verdict, effects.Refuse):
            self._cut(verdict)
            return
        if self._head.wants_continue:
            await self._client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body: bytes | Body = self._body
        payload = b""
        if self._decision.modifiers or isinstance(verdict, NEED_WHOLE_BODY):
            # What waits on the way must not depend on whether its client waits, too.
            body, payload = await self._body.read()
            await self._take_time_for(len(body))
        await self._pause("before", self._context.latency)
        await self._wait_for("before")
        if isinstance(verdict, effects.CutRequest):
            self._cut(verdict)
        elif isinstance(verdict, effects.Answer) and not verdict.applied:
            self._decision.mark_acted(verdict)
            await self._answer(verdict.status)
        elif isinstance(verdict, effects.TruncateRequest) and isinstance(body, bytes):
            await self._truncate_request(verdict, body, payload)
        elif isinstance(verdict, effects.Twice) and isinstance(body, bytes):
            await self._deliver_twice(verdict, body)
        elif not (isinstance(verdict, effects.StaleListing) and await self._recall(verdict)):
            await self._reply(await self._ask(self._head, body), verdict)

    async def _ask(self, head: RequestHead, body: bytes | Body) -> Reply:
        if self._decision.drop_conditions():
            head = resignature.without_conditions(head, self._context.store)
        reply = await ask(self._context.upstream, head, body)
        self._store_status = reply.head.status
        return reply

    async def _reply(self, reply: Reply, verdict: effects.Effect | None) -> None:
        try:
            await self._pause("after", 0.0)
            await self._wait_for("after")
            if isinstance(verdict, effects.CutReply):
                await reply.read()
                self._cut(verdict)
            elif isinstance(verdict, effects.Answer):
                await reply.read()
                self._decision.mark_acted(verdict)
                await self._answer(verdict.status)
            elif isinstance(verdict, effects.TruncateReply):
                await self._truncate_reply(verdict, reply)
            else:
                await self._pass_on(reply)
        finally:
            reply.finish()  # also where the gateway ends while the reply waits

    async def _pass_on(self, reply: Reply) -> None:
        unsent = reply.head.raw
        seen: list[bytes] | None = None
        if self._operation.method == "LIST" and reply.head.status == OK:
            seen = []
        async for piece in reply.body.pieces():
            if seen is not None:
                seen.append(piece.wire)
            await self._take_time_for(len(piece.wire))
            self._bytes_out += len(piece.wire)
            if piece.is_last:
                self._status = reply.head.status
                self._keep_open = self._keep_open and not reply.ends_connection
                reply.finish()
                if seen is not None:
                    known = reply.head, b"".join(seen)
                    self._context.listings.remember(self._head.target, known)
                self._end()
            await self._client.send(unsent + piece.wire)
            unsent = b""

    async def _send(self, head: ResponseHead, wire: bytes) -> None:
        await self._take_time_for(len(wire))
        self._status = head.status
        self._bytes_out = len(wire)
        self._keep_open = self._keep_open and not head.closes
        self._end()
        await self._client.send(head.raw + wire)

    # What verdicts need.

    async def _answer(self, status: int) -> None:
        head, body = error_reply(status, self._head, self._record.number)
        await self._send(head, body)

    async def _deliver_twice(self, verdict: effects.Twice, body: bytes) -> None:
        replies = []
        for _ in range(2):
            reply = await self._ask(self._head, body)
            wire, _payload = await reply.read()
            replies.append((reply.head, wire))
        self._decision.mark_acted(verdict)
        await self._pause("after", 0.0)
        await self._wait_for("after")
        head, wire = replies[0 if verdict.reply == "first" else 1]
        self._store_status = head.status
        await self._send(head, wire)

    async def _recall(self, verdict: effects.StaleListing) -> bool:
        known = self._context.listings.recall(self._head.target)
        if known is None:
            return False
        self._decision.mark_acted(verdict)
        await self._send(*known)
        return True

    async def _truncate_request(
        self, verdict: effects.TruncateRequest, wire: bytes, payload: bytes
    ) -> None:
        if len(payload) <= verdict.keep:
            await self._reply(await self._ask(self._head, wire), None)
            return
        in_own_chunks = "aws-chunked" in self._head.headers.get("content-encoding", "")
        if verdict.silent and not in_own_chunks:
            kept = payload[: verdict.keep]
            head = resignature.with_body(self._head, self._context.store, kept)
            self._decision.mark_acted(verdict)
            await self._reply(await self._ask(head, kept), None)
            return
        await ask_partly(self._context.upstream, self._head.raw + wire[: verdict.keep])
        self._cut(verdict)

    async def _truncate_reply(self, verdict: effects.TruncateReply, reply: Reply) -> None:
        wire, payload = await reply.read()
        if verdict.keep >= len(payload):
            await self._send(reply.head, wire)
            return
        self._decision.mark_acted(verdict)
        kept = payload[: verdict.keep]
        length = len(kept) if verdict.silent else len(payload)
        changes = {"content-length": str(length), "transfer-encoding": None}
        self._keep_open = verdict.silent and self._keep_open
        await self._send(ResponseHead(reply.head.with_headers(changes)), kept)

    def _cut(self, verdict: effects.Effect | None = None) -> None:
        if verdict is not None:
            self._decision.mark_acted(verdict)
        self._end()
        if isinstance(verdict, (effects.CutReply, effects.CutRequest)) and verdict.by == "close":
            self._client.hang_up()
        else:
            self._client.reset()

    # What modifiers need.

    async def _pause(self, at: str, seconds: float) -> None:
        seconds += self._decision.find_delay(at)
        if seconds:
            await asyncio.sleep(seconds)

    async def _wait_for(self, at: str) -> None:
        for effect in self._decision.find_holds(at):
            if effect.cut:
                self._client.reset()
            loop, event = asyncio.get_running_loop(), asyncio.Event()
            if effect.held.catch(self._operation, partial(_wake, loop, event)) or effect.cut:
                self._decision.mark_acted(effect)
            await event.wait()

    async def _take_time_for(self, size: int) -> None:
        seconds = self._decision.find_transfer_time(size)
        if seconds:
            await asyncio.sleep(seconds)

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._context.log.end(
            attrs.evolve(
                self._record,
                status=self._status if self._client.is_open else None,
                store_status=self._store_status,
                bytes_in=self._body.passed,
                bytes_out=self._bytes_out,
                faults=(*self._decision.close(), *self._trouble),
                ended=time.monotonic(),
            )
        )


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the gateway is closed, and the request with it
        loop.call_soon_threadsafe(event.set)
