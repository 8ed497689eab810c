"""The thread that delivers a recorder's records, so that no agent waits for them.

A thread, because agents may block their event loop. What could not be delivered is tried again, with longer
pauses; one line says that it began to fail, and one that it works again.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque

from adk_prism.runlog.entry import RunEnded
from adk_prism.source.recorder.destinations import Destination, Refused, TooLong, Unavailable
from adk_prism.source.recorder.outbox import Delivery, OutboundRun, Outbox

PAUSES = (0.5, 10.0)
"""Seconds between two attempts, the first and the longest: well below what a server waits for a recorder."""

BETWEEN = 0.05
"""Seconds between two deliveries: as many records as come meanwhile share a request."""

LOOK = 1.0
"""Seconds after which the thread looks for runs that ended without a word."""

LAST = 3.0
"""Seconds that the end of a process waits for what is not delivered."""

STOPPED = "server_stopped"
"""Code of runs that did not end before their process."""

logger = logging.getLogger("adk_prism.recorder")


class Sender:
    """Delivers what is in an outbox; the thread begins with the first run."""

    def __init__(self, outbox: Outbox, destination: Destination) -> None:
        self._outbox = outbox
        self._destination = destination
        self.vanished: deque[OutboundRun] = deque()
        """Runs whose context is gone and that nobody ended. Written by finalizers, which may take no lock."""
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._pause = 0.0
        self._has_refused = False

    def start(self) -> None:
        """Begin to deliver. Repeating it changes nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="adk-prism recorder", daemon=True
            )
            self._thread.start()
            atexit.register(self.close)

    def flush(self, seconds: float) -> bool:
        """Wait until all is delivered, at most so long; return whether it is."""
        until = time.monotonic() + seconds
        while self._outbox.waiting and not self._pause and time.monotonic() < until:
            time.sleep(BETWEEN)
        return not self._outbox.waiting

    def close(self) -> None:
        """Try for a short time to deliver what is left, and stop."""
        atexit.unregister(self.close)
        self._outbox.end_open(RunEnded(outcome="failed", code=STOPPED))
        self._closing.set()
        self._outbox.wake()
        if self._thread is not None:
            self._thread.join(LAST)
        if self._outbox.waiting:
            logger.warning(
                "adk-prism recorder: %d records were not delivered to %s.",
                self._outbox.waiting,
                self._destination.title,
            )

    def _run(self) -> None:
        while True:
            self._end_vanished()
            is_last = self._closing.is_set()
            delivery = self._outbox.take(0 if is_last else LOOK)
            if delivery is not None:
                self._deliver(delivery)
            if is_last and (delivery is None or self._pause or not self._outbox.waiting):
                break
            self._closing.wait(self._pause or (BETWEEN if delivery else 0))
        self._destination.close()

    def _end_vanished(self) -> None:
        while self.vanished:
            self._outbox.put(self.vanished.popleft(), time.time(), RunEnded(outcome="cancelled"))

    def _deliver(self, delivery: Delivery) -> None:
        run, lines = delivery
        try:
            self._outbox.delivered(run, self._destination.deliver(run, lines))
        except Refused as error:
            if not (isinstance(error, TooLong) and self._outbox.cut(run)):
                self._outbox.refuse(run)
            if not self._has_refused:
                self._has_refused = True
                logger.warning("adk-prism recorder: a run is not taken (%s).", error)
        except Unavailable as error:
            self._wait(error)
        except Exception as error:  # Nothing may end the thread; the next attempt may succeed.
            self._wait(Unavailable(type(error).__name__))
        else:
            if self._pause:
                logger.info("adk-prism recorder: %s is back.", self._destination.title)
            self._pause = 0.0

    def _wait(self, error: Unavailable) -> None:
        if not self._pause:
            logger.warning(
                "adk-prism recorder: %s does not take records now (%s). They are kept, and sent later.",
                self._destination.title,
                error,
            )
        first, longest = PAUSES
        self._pause = min(longest, max(first, 2 * self._pause, error.again))
