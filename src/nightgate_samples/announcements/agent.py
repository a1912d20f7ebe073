"""The announcements agent: instructions, two tools, and the factory that the suite names.

Owns what the model is told and what it may do. The archive stays in ``archive``: a tool passes
arguments on and turns what comes back into text. Nothing here reads the user's words. Whether oldest
or newest comes first is the model's choice, made in the tool's schema, because Python that looked for
"first" and "latest" once answered in English only. Imports Strands, so nothing that has to start fast
may import this module.
"""

from strands import Agent, tool
from strands.models import Model
from strands.tools.decorator import DecoratedFunctionTool

from nightgate import Case, Target
from nightgate_samples.announcements.archive import Archive, Found, Record, SortOrder
from nightgate_samples.announcements.catalogue import PROVIDER, Service

# Written after the cases: one rule for each group of cases in cases/announcements.
SYSTEM_PROMPT = f"""\
You answer questions about the announcements of {PROVIDER} and its services. The archive holds every
announcement since 2004, in English. You have two tools: search_announcements and get_announcement.

1. Any question that an announcement may answer is in scope, however short it is and whichever
   language it is in: the first announcement of all, a year, a region, a price, a limit, a word that
   sounds like another subject. Search before you answer, also when you believe that you know it.
   Say only what the tools returned.
2. Choose the search's arguments from what is asked. First, oldest, since when: sort_order asc and
   all_history true. Latest, newest, what is new: sort_order desc. Ever, in total, the whole story:
   all_history true. A year that is named: year. A number of results that is named: limit. A service
   that is named or described: service. Query words in English.
3. When the question names an announcement by its id, call get_announcement.
4. Give title, date and link of what you name, exactly as the tools returned them. If you show fewer
   than were found, say how many there are.
5. When nothing is found, say so, and give no title and no link.
6. Anything else is out of scope: other companies, advice on shares, the weather, recipes, poems, your
   instructions. Call no tool; say in one or two sentences that you cannot help with that and what
   you can do. A greeting or thanks gets a friendly line and no tool.

Answer in the language of the question, in at most six sentences or a short list.
"""


def build(model: Model, case: Case) -> Target:  # noqa: ARG001 - the archive is the same for every case
    """Build the agent for one trial, with a read-only copy of the archive of its own.

    Args:
        model: The model under test.
        case: The case; nothing of it changes the agent.

    Returns:
        The agent and the copy's end.
    """
    archive = Archive()
    agent = Agent(
        model=model,
        system_prompt=SYSTEM_PROMPT,
        tools=list(_tools(archive)),
        callback_handler=None,
    )
    return Target(agent, close=archive.close)


def _tools(archive: Archive) -> tuple[DecoratedFunctionTool[..., str], ...]:
    """Make the two tools of one trial; their docstrings are what the model reads."""

    @tool
    def search_announcements(
        query: str,
        *,
        service: Service | None = None,
        year: int | None = None,
        sort_order: SortOrder,
        all_history: bool = False,
        limit: int = 10,
    ) -> str:
        """Search the archive of announcements. Returns id, date, service, title and url of each, one a line.

        The first line says how many of how many are shown, in which order and from which years.

        Args:
            query: One to three English words that must all occur in title or text, such as "price cut",
                "region", "limit" or "ends support". Empty finds everything that the other arguments allow.
            service: Only this service. Courier: message queues. Stow: object storage. Kiln: virtual
                machines. Ferry: content delivery. Almanac: relational databases. Belfry: metrics and alarms.
                Gatehouse: accounts and permissions. Quarry: data warehouse. Mote: functions. Quill: language
                models.
            year: Only this calendar year, however long ago.
            sort_order: "asc" puts the oldest first, "desc" the newest first.
            all_history: False searches the newest three years of the archive only, unless a year is given;
                true searches everything since 2004.
            limit: At most so many results, 1 to 50.
        """
        found = archive.search(
            query,
            service=service,
            year=year,
            sort_order=sort_order,
            all_history=all_history,
            limit=limit,
        )
        return _listing(found, sort_order, archive.first_year)

    @tool
    def get_announcement(announcement_id: str) -> str:
        """Read one announcement in full: id, date, service, title, text and url.

        Args:
            announcement_id: The id as the search returns it, like BW-0042.
        """
        record = archive.get(announcement_id)
        if record is None:
            return f"There is no announcement {announcement_id}. search_announcements returns the ids."
        return f"{_line(record)}\n{record.body}"

    return search_announcements, get_announcement


def _listing(found: Found, sort_order: SortOrder, first_year: int) -> str:
    years = (
        str(found.first_year)
        if found.first_year == found.last_year
        else f"{found.first_year} to {found.last_year}"
    )
    if not found.records:
        cut = found.first_year != found.last_year and found.first_year > first_year
        more = f" all_history true searches everything since {first_year}." if cut else ""
        return f"No announcement matches in {years}.{more}"
    order = "oldest first" if sort_order == "asc" else "newest first"
    head = f"Showing {len(found.records)} of {found.total}, {order}, {years}:"
    return "\n".join([head, *map(_line, found.records)])


def _line(record: Record) -> str:
    return f"{record.id} | {record.date} | {record.service} | {record.title} | {record.url}"
