"""A command of the program: any click command."""

import click


@click.command("hello")
@click.argument("name", default="world")
def hello(name: str) -> None:
    """Say hello."""
    click.echo(f"Hello, {name}.")
