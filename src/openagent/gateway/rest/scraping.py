"""`/metrics`: where Prometheus and its like look by themselves."""

from starlette.requests import Request
from starlette.responses import Response

from openagent.gateway.request_guard import METRICS
from openagent.gateway.rest.asking import Asking, new_op_id
from openagent.gateway.rest.decode import decode_query
from openagent.gateway.rest.endpoint import Custom
from openagent.protocol.metrics import MetricsExport

_OPENMETRICS = "application/openmetrics-text"


def scrape_row(asking: Asking) -> Custom:
    async def scrape(request: Request) -> Response:
        decode_query(request, None)
        wanted = "openmetrics" if _OPENMETRICS in request.headers.get("accept", "") else "prometheus"
        told = await asking.perform(request.state.caller, MetricsExport(id=new_op_id(), format=wanted))
        return Response(told.text, headers={"Content-Type": told.content_type})

    return Custom(
        "GET",
        METRICS,
        "What the daemon counted, for Prometheus.",
        scrape,
        scope="read",
        media="text/plain",
        headers={"Accept": f"With `{_OPENMETRICS}` the answer is in that format."},
        description="Of the whole daemon: the token must reach every folder.",
    )
