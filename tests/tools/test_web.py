"""web_fetch and web_search, against a local server."""

import gzip

import pytest

from openagent.plugins.tool import Tool
from openagent.protocol.errors import OpenAgentError
from openagent.tools import web_fetch as web_fetch_module
from openagent.tools.html_text import html_to_text
from openagent.tools.read_file import read_file
from openagent.tools.web_fetch import web_fetch_tool
from openagent.tools.web_search import JsonSearch, web_search_tool

from .bench import Bench
from .site import Page, site

pytestmark = pytest.mark.anyio

PAGE = """<!doctype html><html><head><title> The  Page </title><style>p{}</style>
<script>if (a < b) evil()</script></head>
<body><nav><a href="/">menu</a></nav><h2>Part &amp; more</h2><p>Some <b>bold</b>
text with a <a href="/doc?x=1">link</a>.<br>Next line.</p>
<ul><li>one</li><li>two<ol><li>deep</li><li>deeper</li></ol></li></ul>
<pre><code>def f():
    return   1</code></pre><p>Use <code>f()</code>.</p>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><p>an <i>unclosed <p>paragraph</body></html>"""

TEXT = """# The Page

## Part & more

Some bold text with a [link](http://host/doc?x=1).
Next line.

- one
- two
  1. deep
  2. deeper

```
def f():
    return   1
```

Use `f()`.

| A | B
| 1 | 2

an unclosed

paragraph"""


def test_a_page_becomes_readable_text() -> None:
    assert html_to_text(PAGE, "http://host/dir/") == TEXT
    main = "word " * 60
    assert html_to_text(f"<p>menu</p><main><p>{main}</p></main><p>footer</p>") == main.strip()


@pytest.mark.parametrize(
    "html", ["", "<", "<p", "</p></li></a></pre>", "<ol><li><a href=x>", "<script>", "&#xD800;&bogus;"]
)
def test_broken_pages_do_no_harm(html: str) -> None:
    html_to_text(html + "text", "http://host/")


LOOPBACK = web_fetch_tool(reachable=["127.0.0.0/8"])


async def test_pages_come_as_text_and_data_as_it_is(bench: Bench) -> None:
    pages = {
        "/page": Page(PAGE.encode(), "text/html; charset=utf-8"),
        "/latin": Page(b"<meta charset=latin-1><p>caf\xe9</p>", "text/html"),
        "/data": Page(b'{"a": 1}', "application/json"),
        "/packed": Page(gzip.compress(b"unpacked"), headers={"Content-Encoding": "gzip"}),
        "/image": Page(b"\x89PNG", "image/png"),
        "/empty": Page(),
    }
    async with site(pages) as served:
        base = f"http://127.0.0.1:{served.port}"
        assert await bench.text(LOOPBACK, url=f"{base}/page") == TEXT.replace("http://host", base)
        assert (await bench.text(LOOPBACK, url=f"{base}/page", raw=True)).startswith("<!doctype html>")
        assert await bench.text(LOOPBACK, url=f"{base}/latin") == "café"
        assert await bench.text(LOOPBACK, url=f"{base}/data") == '{"a": 1}'
        assert await bench.text(LOOPBACK, url=f"{base}/packed") == "unpacked"
        assert await bench.text(LOOPBACK, url=f"{base}/empty") == "The page is empty."
        assert await bench.refusal(LOOPBACK, url=f"{base}/image") == f"{base}/image is image/png, not text."
        assert await bench.refusal(LOOPBACK, url=f"{base}/none") == "[HTTP 404]\nno such page"
        assert served.asked[0].headers["host"] == f"127.0.0.1:{served.port}"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]"),
        *("10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "[fe80::1]", "[fc00::1]"),
        *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "224.0.0.1", "255.255.255.255"),
    ],
)
async def test_this_machine_and_its_networks_are_off_limits(bench: Bench, host: str) -> None:
    async with site({"/": Page(b"secret")}) as served:
        told = await bench.refusal(web_fetch_tool(), url=f"http://{host}:{served.port}/")
        assert "off limits" in told or "has no address" in told
        assert not served.asked


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc/passwd", "is no http or https address"),
        ("ftp://127.0.0.1/", "is no http or https address"),
        ("http://", "is no http or https address"),
        ("nonsense", "is no http or https address"),
        ("http://user:pass@127.0.0.1/", "a user name or password"),
        ("http://127.0.0.1:1/", "could not be fetched"),
        ("http://name.invalid/", "name.invalid has no address"),
    ],
)
async def test_other_addresses_are_refused(bench: Bench, url: str, told: str) -> None:
    assert told in await bench.refusal(LOOPBACK, url=url)


def only(address: str) -> Tool:
    return web_fetch_tool(reachable=[f"{address}/32"])


async def test_redirects_are_followed_and_every_hop_is_checked(bench: Bench) -> None:
    async with site({"/end": Page(b"arrived")}) as served:

        def to(target: str) -> Page:
            return Page(status=302, headers={"Location": target})

        inner, other = f"http://127.0.0.1:{served.port}/end", f"http://127.0.0.3:{served.port}/end"
        served.pages |= {f"/{n}": to(f"/{n + 1}") for n in range(1, 9)}
        served.pages |= {"/5": to("end"), "/inner": to(inner), "/other": to(other), "/file": to("file:///etc/passwd")}
        base = f"http://127.0.0.2:{served.port}"
        assert await bench.text(only("127.0.0.2"), url=f"{base}/1") == "arrived"
        served.pages["/5"] = to("/6")
        assert "more than 5 redirects" in await bench.refusal(only("127.0.0.2"), url=f"{base}/1")
        served.asked.clear()
        assert "127.0.0.1: addresses of this machine" in await bench.refusal(only("127.0.0.2"), url=f"{base}/inner")
        assert "is no http or https address" in await bench.refusal(only("127.0.0.2"), url=f"{base}/file")
        assert (await bench.text(LOOPBACK, url=f"{base}/other")).endswith(f"To follow it, fetch {other}")
        assert {asked.at for asked in served.asked} == {"127.0.0.2"}


async def test_a_name_that_changes_its_address_is_connected_to_where_it_was_checked(bench: Bench) -> None:
    answers = iter([["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    fetch = web_fetch_tool(reachable=["127.0.0.2/32"], resolve=resolve)
    async with site({"/": Page(b"arrived")}) as served:
        url = f"http://rebinding.test:{served.port}/"
        assert await bench.text(fetch, url=url) == "arrived"
        assert (served.asked[0].at, served.asked[0].headers["host"]) == ("127.0.0.2", f"rebinding.test:{served.port}")
        for _ in range(2):
            assert "off limits" in await bench.refusal(fetch, url=url)
        assert len(served.asked) == 1


async def test_size_and_time_are_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"0123456789abcde\n"
    pages = {
        "/long": Page(line * 10_000),
        "/bomb": Page(gzip.compress(line * 1_000_000), headers={"Content-Encoding": "gzip"}),
    }
    async with site(pages) as served:
        base = f"http://127.0.0.1:{served.port}"
        text = await bench.text(LOOPBACK, url=f"{base}/long")
        name = text.split("read_file ")[1].split()[0]
        assert (
            await bench.text(read_file, path=name, start=10_000)
            == "10000\t0123456789abcde\n[lines 10000 to 10000 of 10000]"
        )
        bomb = await bench.text(LOOPBACK, url=f"{base}/bomb")
        assert bomb.endswith("[only the first 5242880 bytes]")
        monkeypatch.setattr(web_fetch_module, "LAYOUT_TIMEOUT", 0.01)
        served.pages["/slow"] = Page(b"<p>word " * 100_000, "text/html")
        assert "as it is:]\n<p>word <p>word " in await bench.text(LOOPBACK, url=f"{base}/slow")
        monkeypatch.setattr(web_fetch_module, "TIMEOUT", 0.0)
        assert "did not answer within" in await bench.refusal(LOOPBACK, url=f"{base}/long")


async def test_a_search_service_of_either_kind_is_asked(bench: Bench) -> None:
    pages = {
        "/res/v1/web/search": Page(b'{"web":{"results":[{"title":"A","url":"http://a","description":"about a"}]}}'),
        "/search": Page(b'{"results":[{"title":"B","url":"http://b","content":null},{"title":"C","url":"http://c"}]}'),
    }
    async with site(pages) as served:
        base = f"http://127.0.0.1:{served.port}/"
        brave, searxng = JsonSearch("brave", base, "key-1"), JsonSearch("searxng", base)
        assert await bench.text(web_search_tool(brave), query="a b", count=3) == "1. A\nhttp://a\nabout a"
        assert await bench.text(web_search_tool(searxng), query="x", count=1) == "1. B\nhttp://b"
        first, second = served.asked
        assert (first.target, first.headers["x-subscription-token"]) == ("/res/v1/web/search?q=a+b&count=3", "key-1")
        assert second.target == "/search?q=x&format=json"
        served.pages["/search"] = Page(b"<html>")
        assert "did not give a usable answer" in await bench.refusal(web_search_tool(searxng), query="x")
        served.pages["/search"] = Page(status=403)
        assert "HTTP 403. Check tools.search" in await bench.refusal(web_search_tool(searxng), query="x")
    assert "key-1" not in repr(brave)
    with pytest.raises(OpenAgentError, match="no usual address"):
        JsonSearch("searxng")
