"""The way out of one enclosure, from its start to its end."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence

import msgspec

from openagent.jail.egress_proxy import PROXY_PORT, EgressProxy
from openagent.jail.ports import PortOpener
from openagent.plugins.jail import AskHost, NeverReached, reach_anything
from openagent.protocol.errors import OpenAgentError

_log = logging.getLogger(__name__)


class _Info(msgspec.Struct, frozen=True):
    """What bubblewrap says of itself; more than this."""

    pid: int = msgspec.field(name="child-pid")


class WayOut:
    def __init__(
        self,
        opener: PortOpener,
        ask: AskHost,
        names: Mapping[str, str],
        never: NeverReached = reach_anything,
        ports: Sequence[int] = (),
    ) -> None:
        """`ports` of this machine are the jail's own, too."""
        self._opener = opener
        self._proxy = EgressProxy(ask, names, never)
        self._ports = ports
        self._pid = 0
        self._told, info = os.pipe()
        go, self._go = os.pipe()
        self.fds = (info, go)
        """For the enclosure."""
        self.arguments = ("--info-fd", str(info))
        """For bubblewrap, which says which process has the new network."""
        self.setup = f"read -r -u {go} _\nexec {go}<&-"
        """For the enclosure before its first command: nobody finds the way out still closed. It opens while the walls
        are being built, so hardly ever does anybody wait here."""
        opener.hold()
        self._opening = asyncio.get_running_loop().create_task(self._open())
        self._opening.add_done_callback(lambda _: self._let_go())

    async def _open(self) -> None:
        try:
            self._pid = msgspec.json.decode(await _read_all(self._told), type=_Info).pid
            await self._proxy.serve(await self._opener.open(self._pid, PROXY_PORT))
            await self._forward(self._ports)
        except (OpenAgentError, msgspec.DecodeError) as problem:  # the jail stands all the same, without a network
            _log.warning("sandbox has no network: the proxy could not be opened in it", extra={"problem": str(problem)})

    async def set_ports(self, ports: Sequence[int]) -> None:
        await asyncio.wait([self._opening])
        for port in self._proxy.forwarded:
            if port not in ports:
                self._proxy.stop_forwarding(port)
        await self._forward([port for port in ports if port not in self._proxy.forwarded])

    async def _forward(self, ports: Sequence[int]) -> None:
        for port in ports:
            try:
                listening = await self._opener.open(self._pid, port)
            except OpenAgentError as problem:  # a program inside has it
                _log.info(
                    "port could not be forwarded into the sandbox, a program inside uses it",
                    extra={"problem": str(problem)},
                )
            else:
                await self._proxy.forward(listening, port)

    def _let_go(self) -> None:
        os.close(self._go)
        os.close(self._told)

    def close(self) -> None:
        self._opening.cancel()
        self._proxy.close()
        self._opener.release()


async def _read_all(fd: int) -> bytes:
    """Until its writers are gone, or what is written is whole."""
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)
    said = bytearray()
    over = loop.create_future()

    def read() -> None:
        said.extend(data := os.read(fd, 4096))
        if (not data or said.rstrip().endswith(b"}")) and not over.done():
            over.set_result(None)

    loop.add_reader(fd, read)
    try:
        await over
    finally:
        loop.remove_reader(fd)
    return bytes(said)
