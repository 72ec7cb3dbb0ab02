"""Events that are one line between the messages."""

from openagent.client.text import collected, intent_line, one_line
from openagent.protocol import events as e


def note_for(event: e.AnyEvent) -> tuple[str, str] | None:
    """The words and their kind (empty, warning, error)."""
    match event:
        case e.HookRan() if event.outcome != "done":
            return f"hook {event.hook} {event.outcome}: {event.detail}", "warning"
        case e.BackgroundStarted():
            return f"{event.command_id} goes on in the background: {one_line(event.command)}", ""
        case e.BackgroundFinished(lost=True):
            return f"{event.command_id} was ended in the background; how far it had come is not known.", "warning"
        case e.RetryScheduled():
            return f"{event.error.message} Trying again in {event.delay_s:g} s.", "warning"
        case e.ProviderFailedOver():
            return f"{event.to_model} goes on: {event.reason}", "warning"
        case e.LoginRequired():
            return (
                f"The login to {event.provider} has ended. Log in again: openagent auth login {event.provider}",
                "warning",
            )
        case e.BudgetWarning():
            return f"{event.spent:g} of {event.limit:g} {event.unit} spent.", "warning"
        case e.ContextCollected():
            return collected(event), "warning" if event.note else ""
        case e.IntentDetected():
            return intent_line(event), ""
        case e.ErrorRaised():
            return f"{event.error.message} {event.error.hint}", "error"
        case e.SessionDeleted():
            return "The session was deleted.", "error"
        case _:
            return None
