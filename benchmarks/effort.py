"""How much is measured: enough to trust the figures, or just enough to see that everything works."""

from msgspec import Struct


class Effort(Struct, frozen=True):
    answers: int
    """Runs of `openagent run` with one answer."""
    long_runs: int
    """Runs with fifty shell calls."""
    cold_starts: int
    streamed_chunks: int
    """Of each of the twenty sessions, to its three clients."""
    messages: tuple[int, int]
    """Lengths of the short and of the long session."""
    commands: int
    jails_opened: int
    soak_sessions: int
    soak_rounds: int
    """Turns of each of them. The first round is what later ones are compared with."""
    crowd_steps: int
    """Of each of the fifty sessions that work at once."""
    stored_sessions: int
    imports: int
    adapter_chunks: int
    terminals: int
    """Starts of the terminal program."""
    streamed_seconds: int
    """How long its five tabs stream."""
    pages: int
    """Pages of a long history that it reads upwards."""
    indexed_files: int
    """Real ones, of a repository."""
    small_files: int
    searches: int
    """Of each question about them."""
    translated: int
    """How often five calls are translated there and back, in one round."""


FULL = Effort(
    answers=30,
    long_runs=10,
    cold_starts=5,
    streamed_chunks=250,
    messages=(1_000, 100_000),
    commands=200,
    jails_opened=5,
    soak_sessions=300,
    soak_rounds=10,
    crowd_steps=20,
    stored_sessions=10,
    imports=5,
    adapter_chunks=20_000,
    terminals=10,
    streamed_seconds=10,
    pages=200,
    indexed_files=5_000,
    small_files=50_000,
    searches=10,
    translated=200,
)
QUICK = Effort(
    answers=5,
    long_runs=2,
    cold_starts=1,
    streamed_chunks=25,
    messages=(500, 2_000),
    commands=20,
    jails_opened=1,
    soak_sessions=70,
    soak_rounds=2,
    crowd_steps=2,
    stored_sessions=1,
    imports=1,
    adapter_chunks=1_000,
    terminals=3,
    streamed_seconds=4,
    pages=10,
    indexed_files=100,
    small_files=500,
    searches=2,
    translated=20,
)
