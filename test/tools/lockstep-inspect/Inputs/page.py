"""Checks that the data in a page is the inspection in JSON: `page.py FILE.html
FILE.json`.
"""

import json
import pathlib
import re
import sys

page, inspection = (
    pathlib.Path(argument).read_text(encoding="utf-8")
    for argument in sys.argv[1:]
)
(data,) = re.findall(
    r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
)
assert json.loads(data) == json.loads(inspection)
assert (
    len(re.findall("<script", page)) == len(re.findall("</script>", page)) == 2
)
assert not re.search(r"""(src|href)=|url\(|fetch\(|import\s*\(""", page)
