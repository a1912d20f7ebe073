"""The price table: known, unknown, local and the user's own."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot

from nightgate.cases.scripts import Script, ScriptPrice
from nightgate.errors import InputError
from nightgate.prices import FREE, Price, PriceTable, is_local
from nightgate.prices.table import _built_in

TABLE = PriceTable.load()
PROVIDERS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "bedrock": "aws"}
SNAPSHOT = {provider.id: provider for provider in get_snapshot().providers}


@pytest.mark.parametrize("scheme", ["openai", "openai-responses"])
def test_the_models_of_the_reference_suite_have_its_prices(scheme: str) -> None:
    """Dollars per million tokens, input and output."""
    luna, terra = TABLE.price(f"{scheme}:gpt-6-luna"), TABLE.price(f"{scheme}:gpt-6.1-terra")
    assert luna is not None
    assert terra is not None
    assert (luna.input, luna.output) == (Decimal("0.10"), Decimal("0.50"))
    assert (terra.input, terra.output) == (Decimal(1), Decimal(5))


def _theirs(pattern: str) -> dict[str, Any]:
    scheme, _, name = pattern.partition(":")
    dated = name.replace("20??-??-??", "2026-01-01").replace("20??????", "20260101").rstrip("*")
    family = name.split("-20?")[0].rstrip("*")
    provider = SNAPSHOT[PROVIDERS[scheme]]
    model = provider.find_model(dated) or provider.find_model(family)
    assert model is not None, f"genai-prices has no {name}"
    prices = model.get_prices(datetime(2026, 11, 29, tzinfo=UTC))
    return {kind: getattr(prices, f"{kind}_mtok", None) for kind in _KINDS}


_KINDS = ("input", "output", "cache_read", "cache_write")


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in TABLE])
def test_every_line_agrees_with_genai_prices(pattern: str) -> None:
    """Two tables that are kept apart: a slip in one shows."""
    ours = dict(TABLE)[pattern]
    for kind, theirs in _theirs(pattern).items():
        if theirs is None:
            assert getattr(ours, kind) == ours.input, f"{kind} left out there counts as input here"
            continue
        assert getattr(ours, kind) == getattr(theirs, "base", theirs), kind
        if ours.long is not None:
            (tier,) = theirs.tiers
            assert (ours.long.above, getattr(ours.long, kind)) == (tier.start, tier.price), kind


def test_every_line_says_where_it_is_from_and_since_when() -> None:
    """A price without a source cannot be checked by anybody."""
    for pattern, price in TABLE:
        assert price.source.startswith("https://"), pattern
        assert price.source.endswith(")"), pattern
    assert TABLE.version == _built_in().version


@pytest.mark.parametrize(
    "spec",
    [
        "openai:gpt-nobody-knows",
        "openai:gpt-4o-2024-05-13",
        "openai:gpt-5-pro",
        "openai:gpt-6-luna?base_url=https://gateway.example/v1",
        "openai:gpt-6-luna?service_tier=flex",
        "bedrock:global.anthropic.claude-sonnet-4-6?service_tier=priority",
        "bedrock:arn:aws:bedrock:eu-central-1:1:application-inference-profile/x",
        "litellm:gpt-6-luna",
        "import:module:factory",
        "scripted:x",
    ],
)
def test_unknown_is_none_and_never_zero(spec: str) -> None:
    """A familiar name at a stranger's address or in another tier is another price."""
    assert TABLE.price(spec) is None


@pytest.mark.parametrize(
    "spec",
    [
        "ollama:llama3",
        "llamacpp:default",
        "openai:gpt-6-luna?base_url=http://127.0.0.1:8080/v1",
        "openai-responses:any?base_url=http://localhost:1/v1",
    ],
)
def test_models_on_this_machine_are_known_to_be_free(spec: str) -> None:
    """Nobody charges for them."""
    assert TABLE.price(spec) is FREE


@pytest.mark.parametrize("url", ["https://ollama.example", "http://127.0.0.1.example", "http://[", ""])
def test_elsewhere_is_not_this_machine(url: str) -> None:
    """A hosted server may well charge."""
    assert is_local("ollama", url) is False


def test_options_that_do_not_change_the_price_do_not_hide_it() -> None:
    """Temperature, limits and the default tier; a stand-in for Bedrock keeps Bedrock's price."""
    known = TABLE.price("openai:gpt-6-luna")
    assert TABLE.price("openai:gpt-6-luna?temperature=0&service_tier=default") == known
    id_ = "bedrock:us.amazon.nova-lite-v1:0"
    assert TABLE.price(f"{id_}?base_url=http://127.0.0.1:4566") == TABLE.price(id_) is not None


def test_regional_and_global_profiles_differ() -> None:
    """By a tenth, on Bedrock."""
    everywhere = TABLE.price("bedrock:global.anthropic.claude-sonnet-4-6")
    here = TABLE.price("bedrock:eu.anthropic.claude-sonnet-4-6")
    assert everywhere is not None
    assert here is not None
    assert here.input == everywhere.input * Decimal("1.1")


def test_every_provider_with_a_batch_queue_says_its_factor_and_where_from() -> None:
    """OpenAI, Anthropic and Bedrock each answer within a day at half the list price."""
    for pattern, price in TABLE:
        assert price.batch_factor == Decimal("0.5"), pattern
        assert price.batch_source.startswith("https://"), pattern
        assert price.batch_source.endswith(")"), pattern


def test_the_users_file_may_know_a_batch_queue(tmp_path: Path) -> None:
    """Without a word on it there is none."""
    batch = "batch: {factor: 0.25, as_of: 2026-11-01, source: contract}"
    table = PriceTable.load(a_file(tmp_path, GOOD.replace("cache_read: 1", batch)))
    big, small = table.price("openai:house-big"), table.price("openai:house-small")
    assert big is not None
    assert small is not None
    assert (big.batch_factor, big.batch_source) == (Decimal("0.25"), "contract (2026-11-01)")
    assert small.batch_factor is None


def test_a_script_brings_its_own_price() -> None:
    """Nothing by default, which is known."""
    priced = Script(name="s", price=ScriptPrice(input=Decimal(1), output=Decimal(2)))
    found = TABLE.price("scripted:s", priced)
    assert TABLE.price("scripted:s", Script(name="s")) is FREE
    assert found is not None
    assert (found.input, found.output, found.cache_read) == (Decimal(1), Decimal(2), Decimal(0))


def test_what_is_no_spec_is_said_without_its_options() -> None:
    """They were not checked for credentials."""
    with pytest.raises(InputError, match="'openia:x' is no model spec"):
        TABLE.price("openia:x?api_key=secret")


def a_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = """\
version: ours-3
prices:
  - models: ["openai:gpt-6-luna", "openai:house-*", "litellm:x"]
    input: 7
    output: 8.25
    as_of: 2026-11-01
    source: contract 4711
  - models: ["openai:house-big", "openai:house-big?service_tier=flex"]
    input: 9
    output: 9
    cache_read: 1
    long: {above: 100, input: 10, output: 11}
    as_of: 2026-11-01
    source: contract 4711
"""


def test_the_users_file_comes_first_and_holds_for_any_address(tmp_path: Path) -> None:
    """A contract, a gateway, a model that we do not know."""
    table = PriceTable.load(a_file(tmp_path, GOOD))

    def rate(spec: str) -> Price:
        found = table.price(spec)
        assert found is not None
        return found

    assert rate("openai:gpt-6-luna").input == 7
    assert rate("openai:gpt-6-luna?base_url=https://gateway.example/v1").output == Decimal("8.25")
    assert rate("openai:house-small").cache_read == 7
    assert rate("openai:house-big").input == 9
    assert rate("openai:house-big?service_tier=flex").input == 9
    assert rate("litellm:x").source == "contract 4711 (2026-11-01)"
    assert rate("openai:gpt-5").input == Decimal("1.25")
    assert table.price("openai:house-small?service_tier=flex") is None
    long = rate("openai:house-big").long
    assert long is not None
    assert (long.above, long.input, long.cache_read) == (100, 10, 10)


def test_the_version_names_both_tables_and_the_files_bytes(tmp_path: Path) -> None:
    """Rows of two nights are comparable in money only under one table."""
    first = PriceTable.load(a_file(tmp_path, GOOD)).version
    second = PriceTable.load(a_file(tmp_path, GOOD.replace("input: 7", "input: 6"))).version
    assert first.startswith(f"{TABLE.version}+ours-3-")
    assert first != second


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("version: ours-3\n", "", 1, "version' is missing"),
        ("prices:\n", "price:\n", 2, "unknown key 'price'"),
        ("    input: 7\n", "", 3, "'input' is missing"),
        ("input: 7", "input: -7", 4, "must be a decimal number"),
        ("input: 7", "input: 1e3", 4, "must be a decimal number"),
        ("input: 7", "inputs: 7", 4, "unknown key 'inputs'; did you mean 'input'"),
        ("as_of: 2026-11-01", "as_of: yesterday", 6, "must be a date"),
        ("    source: contract 4711\n", "", 3, "'source' is missing"),
        ('"openai:gpt-6-luna"', '"opnai:gpt-6-luna"', 3, "must begin with one of"),
        ('"openai:gpt-6-luna"', '"gpt-6-luna"', 3, "must begin with one of"),
        ('"openai:gpt-6-luna"', '"scripted:x"', 3, "must begin with one of"),
        ('"openai:gpt-6-luna"', '"openai:*"', 3, "would price every model"),
        ('"openai:house-*"', '"openai:house-big"', 8, "has a price already, on line 3"),
        ("above: 100", "above: 0", 12, "above"),
        ("above: 100, ", "", 12, "'above' is missing"),
        ("cache_read: 1", "batch: {factor: 0, as_of: 2026-11-01, source: x}", 11, "above 0 and at most 1"),
        (
            "cache_read: 1",
            "batch: {factor: 50, as_of: 2026-11-01, source: x}",
            11,
            "half the list price is 0.5",
        ),
        ("cache_read: 1", "batch: {factor: 0.5}", 11, "'as_of' is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    """Before anything is spent."""
    assert old in GOOD
    path = a_file(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        PriceTable.load(path)
    assert f"{path}:{line}: " in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("- x\n", "must be a mapping"),
        ("version: 1\nprices: 3\n", "must be a list"),
        ("version: 1\nprices: [\n", "is no YAML"),
        (
            "version: 1\nprices:\n  - {models: [], input: 1, output: 1, as_of: 2026-11-01, source: x}\n",
            "no model",
        ),
    ],
)
def test_what_is_no_price_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """Also a missing one."""
    with pytest.raises(InputError, match=says):
        PriceTable.load(a_file(tmp_path, text))
    with pytest.raises(InputError, match="cannot be read"):
        PriceTable.load(tmp_path / "absent.yaml")
