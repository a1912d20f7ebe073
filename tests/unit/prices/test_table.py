"""The price table: known, unknown, local and the user's own."""

from decimal import Decimal
from pathlib import Path

import pytest

from nightgate.cases.scripts import Script, ScriptPrice
from nightgate.errors import InputError
from nightgate.prices import FREE, Price, PriceTable, cost_nanousd, is_local
from nightgate.prices.files import region_of
from nightgate.prices.table import _built_in
from nightgate.trials import Usage

TABLE = PriceTable.load()


@pytest.mark.parametrize("scheme", ["openai", "openai-responses"])
def test_the_models_of_the_reference_suite_have_its_prices(scheme: str) -> None:
    """Dollars per million tokens, input and output."""
    luna, terra = TABLE.price(f"{scheme}:gpt-6-luna"), TABLE.price(f"{scheme}:gpt-6.1-terra")
    assert luna is not None
    assert terra is not None
    assert (luna.input, luna.output) == (Decimal("0.10"), Decimal("0.50"))
    assert (terra.input, terra.output) == (Decimal(1), Decimal(5))


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
        "openai:gpt-6-luna?service_tier=scale",
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


def test_a_service_tier_chooses_the_price() -> None:
    """Flex is half of the list price at OpenAI, priority twice; Amazon's priority is dearer by 3/4."""

    def rate(spec: str) -> Decimal:
        found = TABLE.price(spec)
        assert found is not None
        return found.input

    luna, nova = "openai-responses:gpt-6-luna", "bedrock:us.amazon.nova-pro-v1:0"
    assert rate(f"{luna}?service_tier=flex") == rate(luna) / 2
    assert rate(f"{luna}?service_tier=priority") == rate(f"{luna}?service_tier=fast") == rate(luna) * 2
    assert rate(f"{nova}?service_tier=flex") == rate(nova) / 2
    assert rate(f"{nova}?service_tier=priority") == rate(nova) * Decimal("1.75")


def test_a_rate_that_nobody_told_is_unknown_for_calls_that_need_it() -> None:
    """What cached tokens cost at a tier, a long prompt with priority, an hour in OpenAI's cache."""
    flex = TABLE.price("bedrock:us.amazon.nova-pro-v1:0?service_tier=flex")
    priority = TABLE.price("openai:gpt-5.4?service_tier=priority")
    luna = TABLE.price("openai:gpt-6-luna")
    assert flex is not None
    assert priority is not None
    assert luna is not None
    assert cost_nanousd(Usage(input=10, output=1), flex) == 10 * 400 + 1600
    assert cost_nanousd(Usage(input=10, cache_read=1), flex) is None
    assert cost_nanousd(Usage(input=272_000), priority) == 272_000 * 5000
    assert cost_nanousd(Usage(input=272_001), priority) is None
    assert cost_nanousd(Usage(cache_write=4, cache_write_1h=1), luna) is None


def test_an_hour_in_anthropics_cache_costs_twice_the_input() -> None:
    """At Anthropic and on Bedrock, in every region class."""
    claude = [(pattern, price) for pattern, price in TABLE if "claude" in pattern]
    assert len(claude) > 20
    for pattern, price in claude:
        assert price.cache_write_1h == 2 * price.input, pattern
        assert price.cache_write == price.input * Decimal("1.25"), pattern


def test_every_batch_price_says_where_it_is_from() -> None:
    """OpenAI, Anthropic and Bedrock each answer within a day at half the list price of fresh tokens."""
    queued = [(pattern, price) for pattern, price in TABLE if price.batch is not None]
    assert queued
    for pattern, price in queued:
        assert price.batch_factor == Decimal("0.5"), pattern
        assert price.batch_source.startswith("https://"), pattern
        assert price.batch_source.endswith(")"), pattern


def test_cached_tokens_need_not_follow_the_batch_factor() -> None:
    """OpenAI's older models read their cache at list price in the queue, too."""
    older, newer = TABLE.price("openai:gpt-4.1"), TABLE.price("openai:gpt-5")
    assert older is not None
    assert older.batch is not None
    assert newer is not None
    assert newer.batch is not None
    assert (older.batch.cache_read, newer.batch.cache_read) == (older.cache_read, Decimal("0.0625"))


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


def test_a_line_may_be_for_service_tiers_with_rates_that_nobody_told(tmp_path: Path) -> None:
    """As ours: the same schema line by line."""
    text = GOOD.replace("    cache_read: 1\n", "").replace(', "openai:house-big?service_tier=flex"', "")
    line = "service_tier: [flex, slow]\n    cache_read: null\n    cache_write_1h: 3\n"
    table = PriceTable.load(a_file(tmp_path, text.replace("    long:", f"    {line}    long:")))

    flex = table.price("openai:house-big?service_tier=flex")
    assert flex is not None
    assert flex == table.price("openai:house-big?service_tier=slow")
    assert (flex.cache_read, flex.cache_write, flex.cache_write_1h) == (None, 9, 3)
    usual = table.price("openai:house-big")
    assert usual is not None
    assert usual.input == 7  # of the line for all of the house


def test_bedrocks_region_class_is_the_prefix_of_the_id() -> None:
    """A profile of the world, of a geography, or the Region itself."""
    ids = {"global.a.b": "global", "us-gov.a.b": "geographic", "apac.a.b": "geographic"}
    ids["ai21.b"] = "in-region"
    assert {name: region_of(name) for name in ids} == ids


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
        ("input: 7", "input: null", 4, "must be a decimal number"),
        ("cache_read: 1", "cache_read:", 11, "must be a decimal number"),
        ("cache_read: 1", "cache_writes_1h: 1", 11, "did you mean 'cache_write_1h'"),
        ("cache_read: 1", "region: global", 8, "region is for bedrock: models"),
        ("cache_read: 1", "region: world", 11, "global"),
        ("cache_read: 1", "service_tier: flex", 8, "a service tier of its own beside the line's"),
        ('"litellm:x"]', '"bedrock:us.acme.m"]\n    region: in-region', 3, "is geographic by its prefix"),
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
