from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases.documents import MAX_DEPTH, parse_document, parse_yaml, read_jsonl, read_text, read_yaml
from nightgate.cases.nodes import Plain, to_value
from nightgate.cases.problems import SuiteError

HERE = Path("x.yaml")
TEXT = st.text(st.characters(codec="utf-8"))
YAML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn", "Cs", "Co"]))


def _problem(text: str) -> str:
    with pytest.raises(SuiteError) as raised:
        parse_yaml(text, HERE)
    return str(raised.value)


def test_plain_scalars_keep_their_source_and_quoted_ones_are_text() -> None:
    """The field decides later which of the two readings it takes."""
    assert to_value(parse_yaml("{a: no, b: 'no', c: 007, d: !!str 5}", HERE)) == {
        "a": Plain("no"),
        "b": "no",
        "c": Plain("007"),
        "d": "5",
    }


def test_keys_are_their_source_text() -> None:
    """Case ids such as `no` and `007` are keys of scripts."""
    assert list(to_value(parse_yaml("no: 1\n007: 2\n2026-11-29: 3\n~: 4\n", HERE))) == [
        "no",
        "007",
        "2026-11-29",
        "~",
    ]


@given(TEXT)
def test_json_escapes_in_a_quoted_yaml_scalar_give_the_text_back(text: str) -> None:
    """Exporters write JSON into YAML files; surrogate pairs, NUL and breaks must survive."""
    assert to_value(parse_yaml(f"a: {json.dumps(text)}\n", HERE)) == {"a": text}


@given(YAML_TEXT.filter(lambda text: "\ufeff" not in text))
def test_any_printable_text_survives_single_quotes(text: str) -> None:
    """U+0085, U+2028 and U+2029 are breaks to the scanner and plain characters to YAML 1.2."""
    quoted = text.replace("'", "''")

    assert to_value(parse_yaml(f"a: '{quoted}'\n", HERE)) == {"a": text}


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
def test_unicode_breaks_inside_text_are_kept_and_count_no_line(odd: str) -> None:
    """An editor does not count them either, so the line in a message would be wrong."""
    tree = parse_yaml(f'a: "x{odd}y"\nb: x{odd}y\n', HERE)

    assert to_value(tree) == {"a": f"x{odd}y", "b": Plain(f"x{odd}y")}
    assert tree.entries["b"].line == 2


def test_a_key_that_is_there_twice_is_refused_with_both_lines() -> None:
    """The second would win in silence."""
    assert _problem("a: 1\nb: 2\na: 3\n") == "x.yaml:3: key 'a' is there twice, first on line 1"


def test_every_repeated_key_is_found_and_the_first_value_kept() -> None:
    """What stands behind the first slip is checked in the same round."""
    found = parse_document("a: 1\na: [2]\nb: {c: 3, c: 4}\na: 5\n", HERE)

    assert to_value(found.root) == {"a": Plain("1"), "b": {"c": Plain("3")}}
    assert [str(problem) for problem in found.problems] == [
        "x.yaml:2: key 'a' is there twice, first on line 1",
        "x.yaml:3: key 'c' is there twice, first on line 3",
        "x.yaml:4: key 'a' is there twice, first on line 1",
    ]


def test_a_syntax_error_does_not_hide_the_repeated_keys_before_it() -> None:
    """Only what follows it means nothing."""
    assert _problem("a: 1\na: 2\nb: c: d\n").startswith("x.yaml:2: key 'a' is there twice")
    assert "\nx.yaml:3: is no YAML 1.2" in _problem("a: 1\na: 2\nb: c: d\n")
    assert "\nx.yaml:3: tag '!mine' is not supported" in _problem("a: 1\na: 2\nb: !mine c\n")


@pytest.mark.parametrize(("first", "second"), [("1", '"1"'), ("no", "'no'"), ("a", "? a\n")])
def test_keys_are_the_same_when_their_text_is(first: str, second: str) -> None:
    """Keys are text here, so quoting makes no other key."""
    assert "is there twice" in _problem(f"{first}: x\n{second}: y\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "x.yaml:1: is no YAML 1.2: mapping values are not allowed here; quote the text"),
        ("a:\n\tb: c\n", "use spaces, not a tab"),
        ("a: 'x\n", "a quote or bracket is not closed"),
        ("a: @x\n", "quote the text"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2: holds a second document"),
        ("a: &x 1\n<<: *x\n", "x.yaml:2: merge keys (<<) are not YAML 1.2"),
        ("? [a]\n: b\n", "a key must be text"),
        (
            "a: !!python/object:os.system x\n",
            "tag 'tag:yaml.org,2002:python/object:os.system' is not supported",
        ),
        ("a: !mine x\n", "tag '!mine' is not supported"),
        ("a: !!set {b}\n", "tag 'tag:yaml.org,2002:set' is not supported"),
        ("a: *nowhere\n", "alias *nowhere has no anchor"),
        ("a: &x [*x]\n", "alias *x lies inside of what it stands for"),
        ('a: "\\ud800"\n', "half a surrogate pair"),
        ('a: "\\q"\n', "unknown escape"),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_advice(text: str, message: str) -> None:
    """Nobody should need the YAML specification to repair a case."""
    assert message in _problem(text)


def test_aliases_are_expanded() -> None:
    """They are YAML 1.2 and save repeats."""
    assert to_value(parse_yaml("a: &x {b: 1}\nc: *x\n", HERE)) == {
        "a": {"b": Plain("1")},
        "c": {"b": Plain("1")},
    }


def test_a_small_file_cannot_expand_into_billions_of_values() -> None:
    """Nine levels of nine aliases are 387 million values in 600 bytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]

    assert "aliases stand for more than" in _problem("\n".join(lines))


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 50_000, "\n".join(" " * i + "a:" for i in range(500)), "- " * 5000]
)
def test_deep_nesting_is_refused_instead_of_ending_in_a_stack_overflow(text: str) -> None:
    """The depth is bounded before anything recurses."""
    assert f"nested deeper than {MAX_DEPTH} levels" in _problem(text)


def test_a_chain_of_aliases_cannot_nest_deeper_either() -> None:
    """Each line is shallow; together they are not."""
    chain = "\n".join(["a0: &a0 x", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 300))])

    assert "nested deeper" in _problem(chain)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"])
def test_a_document_with_nothing_in_it_is_none(text: str) -> None:
    """Callers decide what emptiness means: no cases, or no suite."""
    assert parse_yaml(text, HERE) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: \xff\n", ":2: byte 0xff is no UTF-8"),
        (b"a: 1\nb: x\x00y\n", ":2: holds the control character U+0000"),
        (b"a: \x1b[31m\n", ":1: holds the control character U+001B"),
        ("a: 1".encode("utf-16"), ":1: is UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a Git LFS pointer"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_the_line(tmp_path: Path, data: bytes, message: str) -> None:
    """A file that was not fetched or saved right is the commonest reason."""
    file = tmp_path / "x.yaml"
    file.write_bytes(data)

    with pytest.raises(SuiteError) as raised:
        read_yaml(file)

    assert message in str(raised.value)


def test_a_missing_file_is_a_suite_error(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(SuiteError, match="cannot be read: No such file"):
        read_text(tmp_path / "none.yaml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """Some editors write one into UTF-8."""
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")

    assert list(to_value(read_yaml(file))) == ["a"]


def test_jsonl_gives_one_node_a_line_and_skips_blank_ones(tmp_path: Path) -> None:
    """Windows line ends and a last line without one are normal."""
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"a": 1}\r\n\r\n  \n{"b": "\xc2\x85"}')

    nodes = [document.root for document in read_jsonl(file)]

    assert [to_value(node) for node in nodes] == [{"a": Plain("1")}, {"b": "\x85"}]
    assert [node.line for node in nodes] == [1, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1', "is no JSON"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ("[" * 200 + "]" * 200, "is nested deeper than"),
        ("[" * 100_000, "is nested deeper than"),
        ('{"a": "\\ud800"}', "half a surrogate pair"),
        ('{"a": 1} {"b": 2}', "is no JSON: Extra data"),
    ],
)
def test_a_bad_line_of_jsonl_is_one_problem_and_the_rest_is_read(
    tmp_path: Path, line: str, message: str
) -> None:
    """Lines stand alone, so all bad ones are listed at once."""
    file = tmp_path / "x.jsonl"
    file.write_text(f"{{}}\n{line}\n{{}}\n", encoding="utf-8")

    found = list(read_jsonl(file))

    assert [item.root is None for item in found] == [False, True, False]
    (problem,) = found[1].problems
    assert problem.line == 2
    assert message in problem.message


def test_a_line_of_jsonl_with_repeated_keys_keeps_the_first_of_each(tmp_path: Path) -> None:
    """The rest of the line can be checked in the same round."""
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1, "b": {"c": 2, "c": 3}, "a": 4, "a": 5}\n', encoding="utf-8")

    (found,) = read_jsonl(file)

    assert to_value(found.root) == {"a": Plain("1"), "b": {"c": Plain("2")}}
    assert [problem.message for problem in found.problems] == [
        "key 'a' is there twice; keep one of them",
        "key 'c' is there twice; keep one of them",
    ]


@given(TEXT)
def test_any_json_text_survives_a_line_of_jsonl(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Including the line separators that `str.splitlines` would cut at."""
    file = tmp_path_factory.mktemp("j") / "x.jsonl"
    file.write_text(json.dumps({"a": text}) + "\n", encoding="utf-8")

    assert [to_value(document.root) for document in read_jsonl(file)] == [{"a": text}]
