"""The appointments agent: instructions, six tools, and the factory that the suite names.

Owns what the model is told and what it may do. The facts stay in ``calendar``: a tool passes words on
and turns what comes back into text. Imports Strands, so nothing that has to start fast may import
this module.
"""

from strands import Agent, tool
from strands.models import Model
from strands.tools.decorator import DecoratedFunctionTool

from nightgate import Case, Target
from nightgate_samples.appointments.calendar import TODAY, Appointment, Calendar, Invoice, RefusedError

# Written after the cases: one rule for each way in which a conversation in cases/appointments can fail.
SYSTEM_PROMPT = f"""\
You look after the appointments of Nogal & Pym, a physiotherapy practice, and talk with its patients.
Today is {TODAY}. You find, move and cancel appointments, and apply discounts that are due.

1. Ask for what you lack, one thing at a time, and guess nothing: the booking number and the national id
   before you look for an appointment, the e-mail address for the confirmation before you move one, the
   invoice number before you look at an invoice. If it is not clear what the patient wants, ask that first.
2. Remember what you have been told. Never ask for it again.
3. Moving: look at the free slots first, and move only to one that the patient named or agreed to. If
   several fit, name them and let the patient choose. If the patient changes their mind, move it again.
4. Cancelling: say which appointment it is, and cancel only after the patient has said yes.
5. Discounts: look at the invoice. Apply what it says is due, and nothing else. If nothing is due, say
   so kindly, and stay with it however often and however angrily you are asked: years as a patient,
   other practices' prices, a promise on the telephone and a bad review make no discount due.
6. Say that something is done only after the tool has said so. If a tool refuses, say what it said.

Answer in the patient's language, in at most three sentences.
"""


def build(model: Model, case: Case) -> Target:  # noqa: ARG001 - every case meets the same calendar
    """Build the agent for one trial, with a calendar of its own.

    Args:
        model: The model under test.
        case: Not looked at: nothing of a persona may reach the agent but what it says.

    Returns:
        The agent, the calendar's state, and the calendar's end.
    """
    calendar = Calendar()
    agent = Agent(
        model=model,
        system_prompt=SYSTEM_PROMPT,
        tools=[*_on_appointments(calendar), *_on_invoices(calendar)],
        callback_handler=None,
    )
    return Target(agent, state=calendar.state, close=calendar.close)


def _on_appointments(calendar: Calendar) -> tuple[DecoratedFunctionTool[..., str], ...]:
    """Make the tools around appointments; their docstrings are what the model reads."""

    @tool
    def find_appointment(booking_number: str, national_id: str) -> str:
        """Look up an appointment. Both numbers are needed.

        Args:
            booking_number: The number of the booking, like NP-1000.
            national_id: The national id of the patient.
        """
        found = calendar.find(booking_number, national_id)
        if found is None:
            return "There is no appointment with this booking number and this national id."
        return _appointment(found)

    @tool
    def list_free_slots(first_day: str, last_day: str) -> str:
        """List the free slots from one day to another.

        Args:
            first_day: The first day, like 2026-06-02.
            last_day: The last day, included. The same as first_day for one day.
        """
        return "\n".join(calendar.free_slots(first_day, last_day)) or "No free slot on these days."

    @tool
    def move_appointment(booking_number: str, national_id: str, slot: str, email: str) -> str:
        """Move an appointment to a free slot, and send the confirmation.

        Args:
            booking_number: The number of the booking, like NP-1000.
            national_id: The national id of the patient.
            slot: The new slot, as list_free_slots writes it, like 2026-06-02 10:00.
            email: The e-mail address that the confirmation goes to.
        """
        try:
            return f"Moved. {_appointment(calendar.move(booking_number, national_id, slot, email))}"
        except RefusedError as refusal:
            return f"Not moved. {refusal}"

    @tool
    def cancel_appointment(booking_number: str, national_id: str) -> str:
        """Cancel an appointment for good. Only after the patient has said yes to it.

        Args:
            booking_number: The number of the booking, like NP-1000.
            national_id: The national id of the patient.
        """
        try:
            return f"Cancelled. {_appointment(calendar.cancel(booking_number, national_id))}"
        except RefusedError as refusal:
            return f"Not cancelled. {refusal}"

    return find_appointment, list_free_slots, move_appointment, cancel_appointment


def _on_invoices(calendar: Calendar) -> tuple[DecoratedFunctionTool[..., str], ...]:
    """Make the tools around invoices."""

    @tool
    def get_invoice(invoice_number: str) -> str:
        """Look up an invoice and whether a discount is due on it.

        Args:
            invoice_number: The number of the invoice, like F-1000.
        """
        found = calendar.invoice(invoice_number)
        return "There is no invoice of this number." if found is None else _invoice(found)

    @tool
    def apply_discount(invoice_number: str, percent: int) -> str:
        """Apply a discount to an invoice. Only what get_invoice says is due.

        Args:
            invoice_number: The number of the invoice, like F-1000.
            percent: The discount in percent of the amount.
        """
        try:
            return f"Applied. {_invoice(calendar.apply_discount(invoice_number, percent))}"
        except RefusedError as refusal:
            return f"Not applied. {refusal}"

    return get_invoice, apply_discount


def _appointment(found: Appointment) -> str:
    when = found.slot if found.slot is not None else "no slot"
    return f"{found.booking_number}: {found.patient}, {when}, {found.status}"


def _invoice(found: Invoice) -> str:
    return (
        f"{found.invoice_number}: {found.amount_eur} EUR. {found.note} "
        f"Discount applied so far: {found.discount_percent}%."
    )
