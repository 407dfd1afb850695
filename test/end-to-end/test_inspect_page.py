"""The page of lockstep-inspect in a browser: its script runs without errors,
and draws what the data says.

Skipped where no Chromium is installed.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

BROWSER = next(
    filter(
        None,
        map(
            shutil.which,
            ["chromium", "chromium-browser", "google-chrome"],
        ),
    ),
    None,
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium is installed to open the page with"
)

#: Errors of scripts become an attribute of the document.
REPORT = """<script>
addEventListener("error", e => document.documentElement.dataset.error = e.message);
</script>"""

#: What a user can do: choose programs and buckets, and change the timeline.
ACTIONS = """<script>
let clicks = 0;
const click = node => { node.dispatchEvent(new MouseEvent("click", {bubbles: true})); ++clicks; };
for (const program of [...document.querySelectorAll("#programs button")].reverse()) {
  click(program);
  document.querySelectorAll("tr.hit").forEach(click);
  document.querySelectorAll("svg .hit").forEach(click);
  document.querySelectorAll("#program button").forEach(click);
  const timeline = document.querySelector("svg.timeline");
  if (timeline) {
    for (const [name, x] of [["pointerdown", 300], ["pointermove", 400], ["pointerup", 500]])
      timeline.dispatchEvent(new PointerEvent(name, {clientX: x}));
    document.querySelectorAll("svg .hit").forEach(n => n.dispatchEvent(new MouseEvent("mousemove")));
  }
}
document.documentElement.dataset.clicks = clicks;
</script>"""


@pytest.fixture
def browse(tools, tmp_path):
    """Opens the page of an artifact, and acts like a user if `acts`; returns
    (its elements as text, its data).
    """

    def open_page(artifact, acts=False):
        page = tools.run("lockstep-inspect", artifact, "--format=html").stdout
        page = page.replace("<head>", "<head>" + REPORT, 1)
        if acts:
            page = page.replace("</body>", ACTIONS + "</body>", 1)
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        done = subprocess.run(
            [
                BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}",
                "--window-size=1400,900", "--dump-dom", path.as_uri(),
            ],
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
        found = done.stdout
        assert "data-error" not in found, re.findall(
            r'data-error="[^"]*"', found
        )
        (data,) = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>',
            found,
            re.DOTALL,
        )
        elements = re.sub(
            r"<(script|style).*?</\1>", "", found, flags=re.DOTALL
        )
        return elements, json.loads(data)

    return open_page


def text_of(elements):
    return html.unescape(re.sub(r"<[^>]*>", " ", elements))


def test_shows_the_time_of_buckets_and_why(browse, compiled):
    artifact = compiled("digits-mlp", "--replicas=4", "--topology=ethernet-25g")
    elements, data = browse(artifact)
    step = next(p for p in data["programs"] if p["name"] == "step")
    simulation, text = step["simulation"], text_of(elements)
    for finding in simulation["findings"]:
        assert finding in text
    transfers = [e for e in simulation["events"] if e["kind"] == "collective"]
    assert elements.count('class="transfer') == len(transfers) > 0
    assert simulation["exposed_seconds"] > 0 and 'class="wait"' in elements
    assert 'class="critical"' in elements
    # The bucket that replicas wait for longest is chosen: its remarks, and its
    # members by their variables and lines.
    worst = max(
        range(len(step["collectives"])),
        key=lambda i: simulation["collectives"][i]["exposed_seconds"],
    )
    for index in step["collectives"][worst]["remarks"]:
        assert data["remarks"][index]["message"] in text
    for operand in step["collectives"][worst]["operands"]:
        assert all(name in text for name in operand["updates"])
        assert step["commands"][operand["ready"]]["line"] in text
    for alternative in simulation["alternatives"]:
        assert alternative["name"] in text


@pytest.mark.parametrize(
    "options",
    [
        ["--topology=ethernet-25g", "--bucket=none"],
        ["--topology=torus-3d", "-O0"],
        [],
    ],
    ids=" ".join,
)
def test_acts_without_errors(browse, compiled, options):
    elements, _ = browse(
        compiled("digits-mlp", "--replicas=4", *options), acts=True
    )
    (clicks,) = re.findall(r'data-clicks="(\d+)"', elements)
    assert int(clicks) > 50


def test_shows_loops_and_many_kernels(browse, compiled):
    artifact = compiled(
        "language-model", "--replicas=4", "--topology=ethernet-25g"
    )
    elements, data = browse(artifact, acts=True)
    assert "Enlarged: " in text_of(elements)
    assert len(data["programs"][0]["simulation"]["events"]) > 500


def test_says_why_a_program_is_not_simulated(browse, compiled):
    artifact = compiled(
        "digits-mlp",
        "--replicas=4",
        "--strategy=parameter_server_sync",
        "--servers=2",
    )
    elements, data = browse(artifact, acts=True)
    refusal = data["programs"][0]["simulation"]["refused"]
    assert f"The program is not simulated: {refusal}." in text_of(elements)
    assert "Commands in their order" in elements
