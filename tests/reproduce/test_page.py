from mfbandit.reproduce import Section
from mfbandit.reproduce._paper_page import page
from mfbandit.reproduce._section import Picture, Table


def test_texts_are_escaped():
    section = Section("x", "<b>", "a < b & c", ("<script>",), 'say "so"')
    html = page([section])
    assert "<script>" not in html
    assert "a &lt; b &amp; c" in html


def test_pictures_have_a_description_and_tables_their_data():
    table = Table("data", "All of it.", ("policy", "cost"), (("lucb-a", "57,658 ± 3"),), ({"policy": "a"},))
    section = Section("x", "X", "c", ("f",), "s", (Picture("pic", "What it shows"),), (table,))
    html = page([section])
    assert '<img src="pic.svg" alt="What it shows">' in html
    assert 'href="pic.png"' in html
    assert 'href="data.csv"' in html
    assert '<td class="text">lucb-a</td><td>57,658 ± 3</td>' in html


def test_the_page_needs_nothing_from_elsewhere():
    html = page([])
    assert "http" not in html
