"""What the agent wants to know."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from openagent.client.text import clean
from openagent.protocol.sessions import Question


class QuestionPanel(Vertical):
    """The answer is typed into the input below; a number picks a choice."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto; max-height: 16; margin: 0 1; padding: 0 1;
        border: round $primary; border-title-color: $primary; background: $surface;
    }
    QuestionPanel > Static { height: auto; }
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question
        self.border_title = "the agent asks"

    def compose(self) -> ComposeResult:
        yield Static(clean(self.question.text), markup=False)
        for number, choice in enumerate(self.question.choices, 1):
            yield Static(Content.assemble((f"{number} ", "bold $primary"), clean(choice)), markup=False)
        what = "a number or an answer" if self.question.choices else "the answer"
        yield Static(Content.styled(f"type {what}, Enter sends it", "$foreground-muted"), markup=False)

    def answer_for(self, said: str) -> str:
        if said.isdigit() and 0 < int(said) <= len(self.question.choices):
            return self.question.choices[int(said) - 1]
        return said
