"""Ways to write a command so that it looks like another one. Each keeps what bash runs."""

import base64
import random
import shlex
from collections.abc import Callable, Sequence

Words = Sequence[str]

HIDDEN = ("\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\xad", "\u2060", "\U000e0041", "\x01", "\x7f")


# How one word is written


def _bare(word: str) -> str:
    return shlex.quote(word)


def _single(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _double(word: str) -> str:
    return '"' + "".join("\\" + c if c in '"\\$`' else c for c in word) + '"'


def _backslashes(word: str) -> str:
    return "".join("\\" + c for c in word)


def _hex(word: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "'"


def _octal(word: str) -> str:
    return "$'" + "".join(f"\\{byte:03o}" for byte in word.encode()) + "'"


def _unicode(word: str) -> str:
    return "$'" + "".join(f"\\u{ord(c):04x}" for c in word) + "'"


def _long_unicode(word: str) -> str:
    return "$'" + "".join(f"\\U{ord(c):08X}" for c in word) + "'"


def _mixed(word: str) -> str:
    ways = (_single, _double, _backslashes, _hex, _octal, _unicode)
    return "".join(ways[index % len(ways)](c) for index, c in enumerate(word))


def _empty_quotes(word: str) -> str:
    return "''".join(_bare(c) for c in word)


def _empty_expansions(word: str) -> str:
    return '""'.join(_single(c) for c in word) + "$''"


def _locale(word: str) -> str:
    return "$" + _double(word)


def _continued(word: str) -> str:
    return "\\\n".join(_backslashes(c) if not c.isalnum() else c for c in word)


def _printed(word: str) -> str:
    return f'"$(printf %s {_single(word)})"'


def _echoed(word: str) -> str:
    return f'"$(echo {_single(word)})"'


def _backticks(word: str) -> str:
    return f'"`printf %s {_hex(word)}`"' if "\\" not in word else _bare(word)


def _decoded(word: str) -> str:
    return f'"$(echo {base64.b64encode(word.encode()).decode()} | base64 -d)"'


def _default(word: str) -> str:
    return f'"${{unset_before:-{word}}}"' if word.replace("/", "").replace("-", "").isalnum() else _bare(word)


def _octal_printed(word: str) -> str:
    return '"$(printf ' + "'" + "".join(f"\\{byte:03o}" for byte in word.encode()) + "'" + ')"'


def _cut_at_nul(word: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in word.encode()) + "\\0hidden'"


WORDS: tuple[Callable[[str], str], ...] = (
    *(_bare, _single, _double, _backslashes, _hex, _octal, _unicode, _long_unicode, _mixed, _empty_quotes),
    *(_empty_expansions, _locale, _continued, _printed, _echoed, _backticks, _decoded, _default, _octal_printed),
    _cut_at_nul,
)


# How the words are put together


def _blank(words: Words) -> str:
    return " ".join(words)


def _tabs(words: Words) -> str:
    return " \t ".join(words)


def _lines(words: Words) -> str:
    return " \\\n ".join(words)


def _braces(words: Words) -> str:
    plain = all(word.replace("/", "").replace("-", "").replace(".", "").isalnum() for word in words)
    return "{" + ",".join(words) + "}" if plain and len(words) > 1 else _blank(words)


def _array(words: Words) -> str:
    return f'q=({_blank(words)}); "${{q[@]}}"'


def _arguments(words: Words) -> str:
    return f'set -- {_blank(words)}; "$@"'


def _function(words: Words) -> str:
    return f'f() {{ "$@"; }}; f {_blank(words)}'


def _variables(words: Words) -> str:
    first, *rest = words
    return f"v={first}; " + _blank(['"$v"', *rest])


def _each_a_variable(words: Words) -> str:
    set_ = "; ".join(f"v{index}={word}" for index, word in enumerate(words))
    return f"{set_}; " + _blank([f'"${{v{index}}}"' for index in range(len(words))])


def _behind_a_redirection(words: Words) -> str:
    return f"2>&1 {_blank(words)}"


def _behind_a_variable(words: Words) -> str:
    return f"A=1 B='x y' {_blank(words)}"


def _by_xargs(words: Words) -> str:
    return f"xargs -I@ {_blank(words)} <<< x"


def _eval(words: Words) -> str:
    return f"eval {_blank([_single(word) for word in words])}"


JOINS: tuple[Callable[[Words], str], ...] = (
    *(_blank, _tabs, _lines, _braces, _array, _arguments, _function, _variables, _each_a_variable),
    *(_behind_a_redirection, _behind_a_variable, _by_xargs, _eval),
)


# What stands around a command; `{}` is the command, `{q}` the command as one quoted word


AROUND = (
    "{}",
    "bash -c {q}",
    "sh -c {q}",
    "bash -euo pipefail -c {q}",
    "eval {q}",
    "env bash -c {q}",
    "env -i A=b sh -c {q}",
    "nohup bash -c {q}",
    "timeout 9 sh -c {q}",
    "nice -n 5 bash -c {q}",
    "setsid bash -c {q}",
    "command bash -c {q}",
    "exec bash -c {q}",
    "builtin eval {q}",
    "stdbuf -oL bash -c {q}",
    "xargs -a /dev/null bash -c {q}",
    "time {}",
    "bash <<< {q}",
    "bash <<'END'\n{}\nEND\n",
    "cat <<'END' | sh\n{}\nEND\n",
    "bash <<-'END'\n{}\nEND\n",
    "sh < <(echo {q})",
    "echo {q} | bash",
    "printf %s {q} | sh -s",
    "printf '%b' {q} | cat | bash -",
    "echo {q} | tee /dev/null | sh",
    "ls; {}",
    "ls && {}",
    "false || {}",
    "ls | {}",
    "ls & {}",
    "true\n{}",
    "{}\nls",
    "({}\n)",
    "{{ {}\n}}",
    "! {}",
    "if true; then {}\nfi",
    "if {}\nthen :; fi",
    "while {}\ndo break; done",
    "until {}\ndo :; done",
    "case x in *) {}\nesac",
    "for i in 1 2; do {}\ndone",
    "for ((i=0;i<1;i++)); do {}\ndone",
    "f() {{ {}\n}}; f",
    "function f {{ {}\n}}; f",
    "echo $({}\n)",
    'echo "$({}\n)"',
    "x=$({}\n)",
    "cat <({}\n)",
    "tee >({}\n) < a",
    "[[ -n $({}\n) ]]",
    "echo ${{x:-$({}\n)}}",
    "{} # a comment",
    "# a comment\n{}",
    "{} #\u200b",
    "#\u202e\n{}",
    "echo '#' ; {}",
    "echo a#b; {}",
    ": \\\n; {}",
    "trap {q} EXIT",
    "alias g={q}\ng",
    "find . -exec bash -c {q} \\;",
    "git -c alias.x=!{q} x",
    "watch {q}",
    'x={q}; eval "$x"',
    'x={q}; bash -c "$x"',
    'set -- {q}; eval "$1"',
    'q=({q}); eval "${{q[0]}}"',
    'read -r x <<< {q}; eval "$x"',
    "echo {b64} | base64 -d | sh",
    'eval "$(base64 -d <<< {b64})"',
    "bash <(echo {b64} | base64 --decode)",
    "echo {b32} | base32 -d | bash",
    "echo {hex} | xxd -r -p | sh",
    "printf '{octal}' | sh",
    "eval \"$(printf '{octal}')\"",
    "echo -e '{octal0}' | bash",
    "bash -c \"$(printf %b '{octal}')\"",
    "rev <<< {rev} | sh",
    "echo {rot} | tr A-Za-z N-ZA-Mn-za-m | sh",
    'eval "$(echo {b64} | base64 -d)"',
    "source <(echo {q})",
    ". /dev/stdin <<< {q}",
)
UNREADABLE = (
    "echo {b64} | openssl base64 -d -A | sh",
    'eval "$(openssl base64 -d -A <<< {b64})"',
    "echo {b64} | python3 -m base64 -d | sh",
    "perl -MMIME::Base64 -e 'print decode_base64(shift)' {b64} | bash",
    'bash -c "$(echo {b64} | openssl enc -d -base64)"',
    "gunzip -c <<< {b64} | sh",
    'x=$(python3 -c "print(1)" {b64}); eval "$x"',
    "awk '{{print}}' <<< {q} | sed s/a/a/ | sh",
    "echo {q} | cut -c1- | sh",
    "head -c 99 <<< {q} | bash",
    "sh -c \"$(sed '' <<< {q})\"",
    "{}\n)",
    "echo 'unfinished\n{}",
)
"""Policy does not follow these, so they are asked about."""
_TURNED = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
)


def around(form: str, command: str) -> str:
    data = command.encode()
    octal = "".join(f"\\{byte:03o}" for byte in data)
    return form.format(
        command,
        q=shlex.quote(command),
        b64=base64.b64encode(data).decode(),
        b32=base64.b32encode(data).decode(),
        hex=data.hex(),
        octal=octal,
        octal0=octal.replace("\\", "\\0"),
        rev=shlex.quote(command[::-1]),
        rot=shlex.quote(command.translate(_TURNED)),
    )


class Spelling:
    """One way, told by its number."""

    def __init__(self, number: int) -> None:
        chance = random.Random(number)
        self.word = WORDS[number % len(WORDS)] if number < len(WORDS) else chance.choice(WORDS)
        self.join = chance.choice(JOINS)
        self.forms = [AROUND[number % len(AROUND)], *chance.choices(AROUND, k=chance.choice((0, 0, 1)))]
        self.hidden = chance.choice(HIDDEN) if chance.random() < 0.25 else ""
        self.at = chance.random()
        self.only_first = chance.random() < 0.4

    def of(self, command: str | Words) -> str:
        """`command`: as words, or as text that is left as it is and only wrapped."""
        text = command if isinstance(command, str) else self._written(command)
        for form in self.forms:
            text = around(form, text)
        encoded = any(code in form for form in self.forms for code in ("{b64}", "{b32}", "{hex}", "{octal", "{rot}"))
        cut = round(self.at * len(text)) if not encoded else 0
        return text[:cut] + self.hidden + text[cut:]

    def _written(self, words: Words) -> str:
        first, *rest = words
        return self.join([self.word(first), *(_bare(word) if self.only_first else self.word(word) for word in rest)])
