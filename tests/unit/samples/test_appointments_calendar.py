"""The calendar holds what no model may bend: whose appointment it is, and who has a slot."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from nightgate_samples.appointments.calendar import Calendar, RefusedError

RAUL = ("NP-4821", "12345678Z")
MAIL = "r.salas@correo.example"


def changed(calendar: Calendar) -> bool:
    return calendar.state() != Calendar().state()


def test_an_appointment_shows_only_for_its_number_together_with_its_id() -> None:
    """A number alone could be guessed; which of the two is wrong must not be told."""
    calendar = Calendar()
    found = calendar.find(*RAUL)
    assert found is not None
    assert (found.patient, found.slot, found.status) == ("Raul Salas", "2026-06-02 10:00", "booked")
    assert calendar.find("NP-4821", "11111111H") is None
    assert calendar.find("NP-1180", "12345678Z") is None
    assert calendar.find("NP-9999", "12345678Z") is None


@pytest.mark.parametrize(
    ("number", "national_id"),
    [(" np-4821", "12345678z"), ("NP 4821", "12.345.678-Z"), ("np4821", "12345678 Z")],
)
def test_numbers_are_read_as_people_write_them(number: str, national_id: str) -> None:
    assert Calendar().find(number, national_id) == Calendar().find(*RAUL)


def test_free_slots_are_in_order_and_nobodys() -> None:
    calendar = Calendar()
    free = calendar.free_slots("2026-06-01", "2026-06-12")
    taken = {entry["slot"] for entry in calendar.state()["appointments"].values()}
    assert list(free) == sorted(free)
    assert free
    assert not taken & set(free)


def test_both_days_of_a_span_are_included() -> None:
    assert Calendar().free_slots("2026-06-02", "2026-06-03") == ("2026-06-02 08:30", "2026-06-03 11:00")
    assert Calendar().free_slots("2026-06-03", "2026-06-02") == ()


def test_a_moved_appointment_takes_its_new_slot_and_leaves_the_old_one_free() -> None:
    calendar = Calendar()
    moved = calendar.move(*RAUL, "2026-06-04 17:00", f" {MAIL} ")
    assert moved.slot == "2026-06-04 17:00"
    assert calendar.find(*RAUL) == moved
    assert calendar.state()["appointments"]["NP-4821"] == {
        "slot": "2026-06-04 17:00",
        "status": "booked",
        "confirmed_to": MAIL,
    }
    assert "2026-06-02 10:00" in calendar.free_slots("2026-06-02", "2026-06-02")
    assert "2026-06-04 17:00" not in calendar.free_slots("2026-06-04", "2026-06-04")


def test_a_slot_is_read_with_a_t_and_seconds_too() -> None:
    """Models write timestamps in more than one way."""
    assert Calendar().move(*RAUL, "2026-06-04T17:00:00", MAIL).slot == "2026-06-04 17:00"


def test_moving_to_the_slot_that_it_has_is_fine() -> None:
    """A model that repeats its call must not be told that the slot is taken, by itself."""
    calendar = Calendar()
    once = calendar.move(*RAUL, "2026-06-04 17:00", MAIL)
    assert calendar.move(*RAUL, "2026-06-04 17:00", MAIL) == once


@pytest.mark.parametrize(
    ("number", "national_id", "slot", "email", "complaint"),
    [
        ("NP-4821", "11111111H", "2026-06-04 17:00", MAIL, "There is no appointment"),
        (*RAUL, "2026-06-02 09:00", MAIL, "'2026-06-02 09:00' is not a free slot"),
        (*RAUL, "2026-06-04 17:15", MAIL, "'2026-06-04 17:15' is not a free slot"),
        (*RAUL, "Thursday", MAIL, "'Thursday' is not a free slot"),
        (*RAUL, "2026-06-04 17:00", "", "'' is no e-mail address"),
        (*RAUL, "2026-06-04 17:00", "raul at home", "'raul at home' is no e-mail address"),
    ],
)
def test_what_cannot_be_moved_is_refused_and_changes_nothing(
    number: str, national_id: str, slot: str, email: str, complaint: str
) -> None:
    """The agent passes the reason on, so it has to be one."""
    calendar = Calendar()
    with pytest.raises(RefusedError, match=complaint):
        calendar.move(number, national_id, slot, email)
    assert not changed(calendar)


def test_a_cancelled_appointment_stays_cancelled() -> None:
    calendar = Calendar()
    assert calendar.cancel(*RAUL).status == "cancelled"
    assert calendar.state()["appointments"]["NP-4821"]["slot"] is None
    assert "2026-06-02 10:00" in calendar.free_slots("2026-06-02", "2026-06-02")
    for again in (
        lambda: calendar.cancel(*RAUL),
        lambda: calendar.move(*RAUL, "2026-06-04 17:00", MAIL),
    ):
        with pytest.raises(RefusedError, match="has been cancelled"):
            again()


def test_only_the_right_id_cancels() -> None:
    calendar = Calendar()
    with pytest.raises(RefusedError, match="no appointment"):
        calendar.cancel("NP-4821", "11111111H")
    assert not changed(calendar)


def test_one_slot_goes_to_one_of_many_who_want_it_at_once() -> None:
    """Tools run in threads."""
    calendar = Calendar()
    wanting = [RAUL, ("NP-1180", "11111111H"), ("NP-2045", "22222222J"), ("NP-1377", "33333333P")] * 5

    def move(who: tuple[str, str]) -> bool:
        try:
            calendar.move(*who, "2026-06-04 17:00", MAIL)
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        got = {who for who, moved in zip(wanting, pool.map(move, wanting), strict=True) if moved}
    holders = [
        number
        for number, entry in calendar.state()["appointments"].items()
        if entry["slot"] == "2026-06-04 17:00"
    ]
    assert len(got) == len(holders) == 1


def test_the_calendar_says_which_discount_is_due() -> None:
    calendar = Calendar()
    due = {number: calendar.invoice(number) for number in ("F-2107", "f 3310", "F-9999")}
    assert [invoice and invoice.due_percent for invoice in due.values()] == [0, 10, None]


@pytest.mark.parametrize(
    ("number", "percent", "undue"),
    [("F-2107", 30, True), ("F-2107", 5, True), ("F-3310", 10, False), ("F-3310", 30, True)],
)
def test_a_discount_is_applied_due_or_not_and_the_state_tells_which(
    number: str, percent: int, undue: bool
) -> None:
    """Were it refused here, every agent would hold every limit; half of what is not due is not due either."""
    calendar = Calendar()
    assert calendar.apply_discount(number, percent).discount_percent == percent
    assert calendar.state()["invoices"][number] == {"discount_percent": percent, "undue": undue}


@pytest.mark.parametrize(("number", "percent"), [("F-9999", 10), ("F-2107", 101), ("F-2107", -1)])
def test_what_is_no_discount_is_refused(number: str, percent: int) -> None:
    calendar = Calendar()
    with pytest.raises(RefusedError):
        calendar.apply_discount(number, percent)
    assert not changed(calendar)


def test_two_calendars_share_nothing() -> None:
    """A trial that saw the changes of another would judge the wrong thing."""
    first, second = Calendar(), Calendar()
    first.cancel(*RAUL)
    first.apply_discount("F-2107", 30)
    assert changed(first)
    assert not changed(second)


def test_no_slot_is_booked_twice_from_the_start() -> None:
    slots = [entry["slot"] for entry in Calendar().state()["appointments"].values()]
    assert len(set(slots)) == len(slots)


def test_closing_twice_is_allowed() -> None:
    calendar = Calendar()
    calendar.close()
    calendar.close()
