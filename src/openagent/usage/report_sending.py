"""Where a report goes when nobody asks for it: into a file, by mail, to a webhook."""

import asyncio
import os
import time
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from openagent.config.settings import ReportSettings
from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.reports import Report
from openagent.usage.report_html import html
from openagent.usage.report_markdown import markdown
from openagent.usage.report_words import figures, title

PASSWORD_ENTRY = "smtp"  # noqa: S105
"""Of the vault."""
_PATIENCE_S = 30.0
_PORTS = {"smtp": 587, "smtps": 465}


class Sender:
    def __init__(self, settings: ReportSettings, password: Callable[[], str]) -> None:
        """`password` is asked for when a mail server wants one."""
        self._settings = settings
        self._password = password

    async def send(self, report: Report) -> list[str]:
        """To every place there is; raises with the first that did not take it, after the others got theirs."""
        ways = [
            *([self._to_file] if self._settings.folder else []),
            *([self._by_mail] if self._settings.mail_to else []),
            *([self._to_webhook] if self._settings.webhook else []),
        ]
        if not ways:
            told = "There is no place to send a report to."
            raise OpenAgentError("config_error", told, hint="Set report.folder, report.mail_to or report.webhook.")
        came = await asyncio.gather(*(way(report) for way in ways), return_exceptions=True)
        for problem in came:
            if isinstance(problem, BaseException):
                raise problem
        return [each for each in came if isinstance(each, str)]

    async def _to_file(self, report: Report) -> str:
        return await asyncio.to_thread(self._write, report)

    def _write(self, report: Report) -> str:
        folder = Path(os.path.expanduser(self._settings.folder))
        begun = time.strftime("%Y-%m-%d", time.localtime(report.since))
        path = folder / f"openagent-{report.period}-{begun}.{self._settings.format}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, written(report, self._settings.format).encode())
        except OSError as problem:
            told = f"The report could not be written to {path}: {problem.strerror}."
            raise OpenAgentError("store_error", told, hint="Set report.folder to a folder of yours.") from None
        return str(path)

    async def _by_mail(self, report: Report) -> str:
        await asyncio.to_thread(self._mail, report)
        return ", ".join(self._settings.mail_to)

    def _mail(self, report: Report) -> None:
        from smtplib import SMTP, SMTP_SSL, SMTPException

        server = urlsplit(self._settings.smtp)
        if server.scheme not in _PORTS or not server.hostname:
            told = "Reports are to be mailed, and report.smtp names no mail server."
            raise OpenAgentError("config_error", told, hint="Set it to smtp://HOST[:PORT] or smtps://HOST[:PORT].")
        kind = SMTP_SSL if server.scheme == "smtps" else SMTP
        try:
            with kind(server.hostname, server.port or _PORTS[server.scheme], timeout=_PATIENCE_S) as line:
                line.ehlo()
                if server.scheme == "smtp" and line.has_extn("starttls"):
                    from ssl import create_default_context

                    line.starttls(context=create_default_context())
                    line.ehlo()
                elif server.scheme == "smtp" and self._settings.smtp_user:
                    told = f"{server.hostname} takes no encrypted connection, so no password was sent to it."
                    raise OpenAgentError("config_error", told, hint="Use a server that does, or leave smtp_user out.")
                if self._settings.smtp_user:
                    line.login(self._settings.smtp_user, self._password())
                line.send_message(self._letter(report))
        except (OSError, SMTPException) as problem:
            told = f"The report could not be mailed by {server.hostname}: {_why(problem)}."
            raise OpenAgentError("config_error", told, hint="Check report.smtp and its password.") from None

    def _letter(self, report: Report) -> EmailMessage:
        letter = EmailMessage()
        letter["Subject"] = title(report)
        letter["From"] = self._settings.mail_from or self._settings.smtp_user or self._settings.mail_to[0]
        letter["To"] = ", ".join(self._settings.mail_to)
        letter.set_content(markdown(report))
        letter.add_alternative(html(report), subtype="html")
        return letter

    async def _to_webhook(self, report: Report) -> str:
        import httpx2

        lines = [f"{name}: {figure} ({more})" for name, figure, more in figures(report)]
        body = {"text": "\n".join([title(report), *lines]), "report": msgspec.to_builtins(report)}
        place = urlsplit(self._settings.webhook).hostname or ""
        try:
            async with httpx2.AsyncClient(timeout=_PATIENCE_S, follow_redirects=False) as client:
                answer = await client.post(self._settings.webhook, json=body)
        except httpx2.HTTPError as problem:
            told = f"The webhook at {place} cannot be reached: {type(problem).__name__}."
            raise OpenAgentError("config_error", told, hint="Check report.webhook.") from None
        if answer.status_code >= 300:
            told = f"The webhook at {place} refused the report: HTTP {answer.status_code}."
            raise OpenAgentError("config_error", told, hint="Check report.webhook.")
        return place


def written(report: Report, form: str) -> str:
    if form == "json":
        return ""
    return html(report) if form == "html" else markdown(report)


def _why(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__).strip().partition("\n")[0]
