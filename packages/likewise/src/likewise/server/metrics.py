"""Counters since the start, one layer around everything: refusals count too."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from likewise.server.access import App, Message, Receive, Scope, Send


@dataclass
class Metrics:
    """Requests by route and status, and the seconds they took."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def text(self, gauges: dict[str, float]) -> str:
        """In the text format of Prometheus."""
        lines = []
        for name, value in gauges.items():
            lines += [f"# TYPE likewise_{name} gauge", f"likewise_{name} {value:g}"]
        lines.append("# TYPE likewise_requests_total counter")
        for (place, status), n in sorted(self.requests.items()):
            lines.append(f'likewise_requests_total{{route="{place}",status="{status}"}} {n}')
        lines.append("# TYPE likewise_request_seconds_total counter")
        for place, seconds in sorted(self.seconds.items()):
            lines.append(f'likewise_request_seconds_total{{route="{place}"}} {seconds:.6f}')
        return "\n".join(lines) + "\n"


class MetricsMiddleware:
    """Counts what goes through."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        start = time.perf_counter()

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            # The route's pattern, never the path: what strangers ask for must not fill a table.
            place = str(getattr(scope.get("route"), "path", "none"))
            self._metrics.requests[place, status] += 1
            self._metrics.seconds[place] += time.perf_counter() - start
