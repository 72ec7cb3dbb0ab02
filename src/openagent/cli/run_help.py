"""`openagent run` for the list of commands. The work, and the way there, is in run.py alone."""

import click
from click.shell_completion import CompletionItem

from openagent.cli.completion import run_words
from openagent.cli.run import help_text
from openagent.cli.run import main as run_main


class _Run(click.Command):
    def get_help(self, ctx: click.Context) -> str:
        return help_text().rstrip()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return run_words(ctx, self.params[0], incomplete)


@click.command("run", cls=_Run, context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, shell_complete=run_words)
def run(words: tuple[str, ...]) -> int:
    return run_main(list(words))
