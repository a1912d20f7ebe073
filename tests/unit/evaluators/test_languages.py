"""The language of a text: told where it can be told, and nowhere else."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.evaluators.languages import own_words, speaks

SPANISH_AND_PORTUGUESE = [
    (
        "El primer anuncio de la historia es de 2004. Presentó el servicio de almacenamiento de objetos.",
        "O primeiro anúncio da história é de 2004. Ele apresentou o serviço de armazenamento de objetos.",
    ),
    (
        "Lo siento, solo puedo responder sobre anuncios. ¿Quieres buscar alguno?",
        "Desculpe, só posso responder sobre anúncios. Quer procurar algum?",
    ),
    (
        "Hay tres anuncios sobre bases de datos en 2012. El más antiguo es del 3 de enero.",
        "Há três anúncios sobre bancos de dados em 2012. O mais antigo é de 3 de janeiro.",
    ),
    (
        "No encontré ningún anuncio de ese año. Prueba con otro servicio.",
        "Não encontrei nenhum anúncio desse ano. Tente com outro serviço.",
    ),
    (
        "Su caso sigue abierto. Le escribiremos mañana.",
        "Seu caso continua aberto. Escreveremos para você amanhã.",
    ),
    (
        "El reembolso no es posible. Puede recibir un crédito de la tienda.",
        "O reembolso não é possível. Você pode receber um crédito da loja.",
    ),
    (
        "La cita es el martes a las diez. Por favor confirme.",
        "A consulta é na terça às dez. Por favor confirme.",
    ),
    (
        "Su pedido llega en cinco días. Gracias por su paciencia.",
        "Seu pedido chega em cinco dias. Obrigado pela paciência.",
    ),
    (
        "Claro, aquí está la lista completa. Son diez resultados.",
        "Claro, aqui está a lista completa. São dez resultados.",
    ),
    ("La factura está pagada. No debe nada.", "A fatura está paga. Não deve nada."),
    ("Puede cancelar cuando quiera. No hay costo.", "Pode cancelar quando quiser. Não há custo."),
    (
        "El servicio está disponible en Madrid. Se anunció en mayo.",
        "O serviço está disponível em Madri. Foi anunciado em maio.",
    ),
    ("No tengo esa información. Consulte con soporte.", "Não tenho essa informação. Consulte o suporte."),
    (
        "Ese producto ya no existe. Le recomiendo el nuevo modelo.",
        "Esse produto já não existe. Recomendo o novo modelo.",
    ),
    ("Abrimos a las nueve. Cerramos a las seis.", "Abrimos às nove. Fechamos às seis."),
    (
        "Se anunció Cloud Vault el 14 de marzo de 2004. Fue el primer servicio.",
        "O Cloud Vault foi anunciado em 14 de março de 2004. Foi o primeiro serviço.",
    ),
    (
        "Gracias por su mensaje. Vamos a revisar su solicitud.",
        "Obrigado pela mensagem. Vamos analisar sua solicitação.",
    ),
    ("El límite es de 50 GB. Se puede ampliar.", "O limite é de 50 GB. Pode ser ampliado."),
    (
        "Este año hubo doce anuncios. El último es de noviembre.",
        "Este ano houve doze anúncios. O último é de novembro.",
    ),
    (
        "Mi respuesta es sí. Tiene derecho a la garantía.",
        "Minha resposta é sim. Você tem direito à garantia.",
    ),
    (
        "La respuesta corta es no. Su plan no incluye esa función.",
        "A resposta curta é não. Seu plano não inclui essa função.",
    ),
    ("Encontré dos coincidencias. ¿Cuál quiere ver?", "Encontrei duas ocorrências. Qual você quer ver?"),
    (
        "El plazo venció ayer. Ya no se aceptan devoluciones.",
        "O prazo venceu ontem. Já não se aceitam devoluções.",
    ),
    ("Con gusto le ayudo. ¿Me da su número de caso?", "Com prazer ajudo. Pode informar o número do caso?"),
    ("Se cobra por hora. El mínimo es una hora.", "Cobra-se por hora. O mínimo é uma hora."),
    ("Tu cuenta está activa. Puedes entrar ahora.", "Sua conta está ativa. Pode entrar agora."),
    ("La tienda abre mañana. El horario no cambia.", "A loja abre amanhã. O horário não muda."),
    ("Lamento la demora. Su pedido sale hoy.", "Lamento a demora. Seu pedido sai hoje."),
]

NEIGHBOURS = {
    "ca": (
        ["es", "fr", "it"],
        [
            "La resposta curta és no. El teu pla no inclou aquesta funció.",
            "He trobat dues coincidències. Quina vols veure?",
            "El teu compte està actiu. Pots entrar ara.",
            "La botiga obre demà. L'horari no canvia.",
            "El primer anunci és del 2004. Parla d'un servei nou.",
            "No el puc ajudar amb això. Només responc sobre anuncis.",
        ],
    ),
    "it": (
        ["es", "fr", "pt"],
        [
            "La risposta breve è no. Il tuo piano non include questa funzione.",
            "Ho trovato due risultati. Quale vuoi vedere?",
            "Il tuo account è attivo. Puoi entrare ora.",
            "Il negozio apre domani. L'orario non cambia.",
            "Il rimborso non è possibile. Può ricevere un credito.",
            "Il suo caso è ancora aperto. Le scriveremo domani.",
            "Il primo annuncio è del 2004. Parla di un nuovo servizio.",
        ],
    ),
    "fr": (
        ["en", "es"],
        [
            "La réponse courte est non. Votre forfait n'inclut pas cette fonction.",
            "J'ai trouvé deux résultats. Lequel voulez-vous voir ?",
            "Votre compte est actif. Vous pouvez entrer.",
            "Le magasin ouvre demain. L'horaire ne change pas.",
            "Je n'ai trouvé aucune annonce. Essayez une autre année.",
        ],
    ),
    "de": (
        ["en", "nl"],
        [
            "Die kurze Antwort ist nein. Ihr Tarif enthält diese Funktion nicht.",
            "Ich habe zwei Treffer gefunden. Welchen möchten Sie sehen?",
            "Ihr Konto ist aktiv. Sie können sich jetzt anmelden.",
            "Der Kundendienst hat die Rückerstattung des Betrags genehmigt.",
        ],
    ),
    "en": (
        ["es", "de", "nl", "fr"],
        [
            "The short answer is no. Your plan does not include it.",
            "I found two matches. Which one do you want?",
            "Your account is active. You can sign in now.",
            "The store opens tomorrow. Hours stay the same.",
        ],
    ),
    "nl": (
        ["de", "en"],
        [
            "Het korte antwoord is nee. Uw abonnement bevat deze functie niet.",
            "Uw account is actief. U kunt nu inloggen.",
        ],
    ),
    "sv": (
        ["da", "no"],
        [
            "Det korta svaret är nej. Din plan har inte den funktionen.",
            "Ditt konto är aktivt. Du kan logga in nu.",
        ],
    ),
    "da": (
        ["sv"],
        [
            "Det korte svar er nej. Dit abonnement har ikke den funktion.",
            "Din konto er aktiv. Du kan logge ind nu.",
        ],
    ),
    "no": (
        ["da", "sv"],
        [
            "Det korte svaret er nei. Abonnementet ditt har ikke den funksjonen.",
            "Kontoen din er aktiv. Du kan logge inn nå.",
        ],
    ),
    "pl": (
        ["en", "ru"],
        [
            "Krótka odpowiedź brzmi nie. Twój plan nie zawiera tej funkcji.",
        ],
    ),
    "ro": (
        ["it", "es"],
        [
            "Răspunsul scurt este nu. Planul dumneavoastră nu include această funcție.",
            "Contul este activ. Puteți intra acum.",
        ],
    ),
    "ru": (
        ["uk"],
        [
            "Короткий ответ: нет. Ваш план не включает эту функцию.",
        ],
    ),
    "uk": (
        ["ru"],
        [
            "Коротка відповідь: ні. Ваш план не містить цієї функції.",
        ],
    ),
    "ja": (
        ["zh"],
        [
            "いいえ、含まれていません。別のプランをご検討ください。",
        ],
    ),
    "zh": (
        ["ja"],
        [
            "不，您的套餐不包含此功能。请考虑其他套餐。",
        ],
    ),
    "ko": (
        ["ja"],
        [
            "아니요, 포함되어 있지 않습니다. 다른 요금제를 고려하세요.",
        ],
    ),
    "ar": (
        ["en"],
        [
            "لا، خطتك لا تتضمن هذه الميزة. يمكنك اختيار خطة أخرى.",
        ],
    ),
    "tr": (
        ["en"],
        [
            "Kısa cevap hayır. Planınız bu özelliği içermiyor.",
        ],
    ),
}


@pytest.mark.parametrize(("spanish", "portuguese"), SPANISH_AND_PORTUGUESE)
def test_spanish_and_portuguese_are_told_apart_in_two_short_sentences(spanish: str, portuguese: str) -> None:
    """The closest pair that support answers are written in."""
    assert speaks(spanish, "es")[0] is True
    assert speaks(spanish, "pt")[0] is False
    assert speaks(portuguese, "pt-BR")[0] is True
    assert speaks(portuguese, "es")[0] is False


@pytest.mark.parametrize("language", NEIGHBOURS)
def test_a_language_is_told_from_its_neighbours(language: str) -> None:
    """In the words of one script for many: two short sentences each."""
    neighbours, texts = NEIGHBOURS[language]
    for text in texts:
        assert speaks(text, language)[0] is True, text
        assert [speaks(text, other)[0] for other in neighbours] == [False] * len(neighbours), text


@pytest.mark.parametrize(
    ("text", "language", "other"),
    [
        ("AWS Lambda now supports Java 21. Amazon S3 Express One Zone is available in Madrid.", "en", "es"),
        ("Amazon S3 Express One Zone está disponible en Madrid. AWS Lambda admite Java 21.", "es", "en"),
        ("Cloud Vault, Data Lago and Nube Cola were announced in 2004.", "en", "es"),
        (
            'El primero es "Introducing Cloud Vault: durable storage for everyone" (2004). No hay otro.',
            "es",
            "en",
        ),
        (
            "1. Cloud Vault Launch (2004)\n2. Data Lake Preview (2005)\nEstos son los dos más antiguos.",
            "es",
            "en",
        ),
        (
            "No encontré nada en https://example.com/about/the-latest-news-of-the-week ni con `SELECT x`.",
            "es",
            "en",
        ),
        ("```sql\nSELECT 'no hay nada aquí para ver' FROM t\n```\nThat query returns no rows.", "en", "es"),
        ("LO SIENTO NO PUEDO AYUDARLE CON ESO", "es", "en"),
        ("“No puedo ayudarle con eso, lo siento.”", "es", "en"),
    ],
)
def test_names_titles_links_and_code_turn_nothing_over(text: str, language: str, other: str) -> None:
    """Product names are English in any language; what is said around them counts."""
    assert speaks(text, language)[0] is True
    assert speaks(text, other)[0] is False


@pytest.mark.parametrize(
    "text",
    [
        "OK.",
        "Sí.",
        "42",
        "No.",
        "Gracias.",
        "N/A",
        "",
        "2004-11-29",
        "Cloud Vault (2004)",
        "🙂👍🏽",
        "https://example.com/anuncios/2004/los-primeros-anuncios-del-servicio",
        '"Presentamos Nube Cola, la primera cola de mensajes" (2004)? OK.',
    ],
)
@pytest.mark.parametrize("language", ["en", "es", "pt"])
def test_what_has_too_few_words_of_its_own_is_not_guessed(text: str, language: str) -> None:
    """Cannot tell is a hole that everyone sees; a guess would be a false verdict."""
    verdict, note = speaks(text, language)
    assert verdict is None
    assert note


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("No encontré nada.", "es"),
        ("No encontré nada en 2004 ni con otro filtro.", "es"),
        ("No lo encontré nunca.", "es"),
        ("Hay una respuesta.", "es"),
        ("El más antiguo.", "es"),
        ("Não sei responder.", "pt"),
        ("See the full list.", "en"),
        ("Here is the oldest one.", "en"),
        ("There are no results.", "en"),
        ("Non ho trovato nulla.", "it"),
        ("Je n'ai rien trouvé.", "fr"),
    ],
)
def test_one_short_sentence_is_never_taken_for_another_language(text: str, language: str) -> None:
    """Told or not told, but not wrong: the detector alone takes some of these for French or Malay."""
    assert speaks(text, language)[0] is not False
    for other in {"en", "es", "pt", "fr", "it", "de", "ca"} - {language}:
        assert speaks(text, other)[0] is not True, other


def test_galician_is_not_taken_for_spanish() -> None:
    """The detector does not know it; its small words give it away."""
    assert speaks("O reembolso non é posible. Pode recibir un crédito da tenda.", "es")[0] is None
    assert speaks("O reembolso non é posible.", "gl")[0] is None


def test_both_forms_of_norwegian_are_norwegian() -> None:
    """``no`` names no form."""
    assert speaks("Eg veit ikkje kva dette er. Kan du seie meir om det?", "nn")[0] is True
    assert speaks("Eg veit ikkje kva dette er. Kan du seie meir om det?", "sv")[0] is False


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_the_unicode_form_of_the_answer_makes_no_difference(form: str) -> None:
    """A model that writes its accents apart writes the same language."""
    text = unicodedata.normalize(form, "Não encontrei nenhum anúncio. Tente outra região.")
    assert speaks(text, "pt")[0] is True
    assert speaks(text, "es")[0] is False


TITLES = [
    "Introducing durable storage for everyone",
    "Now you can share buckets with your team",
    "Announcing general availability of the message queue in all regions",
]
INTRODUCTIONS = {
    "es": ["Encontré tres anuncios sobre ese tema:", "Estos son los anuncios:"],
    "de": ["Ich habe drei Ankündigungen dazu gefunden:", "Das sind die Treffer:"],
    "fr": ["J'ai trouvé trois annonces à ce sujet :", "Voici les résultats les plus anciens :"],
    "pt": ["Encontrei três anúncios sobre esse tema:"],
    "it": ["Ho trovato tre annunci su questo tema:"],
    "nl": ["Ik heb drie aankondigingen gevonden:"],
    "sv": ["Jag hittade tre meddelanden:"],
    "pl": ["Znalazłem trzy ogłoszenia na ten temat:"],
    "ja": ["この件に関するお知らせが三件見つかりました。"],
}
SHAPES = {
    "dashes": "\n".join(f"- {title}" for title in TITLES),
    "numbers": "\n\n".join(f"{n}. {title} (2004)" for n, title in enumerate(TITLES, 1)),
    "set in": "\n".join(
        f"{n}) {title}\n   2004-03-14, in all of our regions" for n, title in enumerate(TITLES, 1)
    ),
    "bold": "\n".join(f"* **{title}** — 2004-03-14" for title in TITLES),
    "headings": "\n".join(f"### {title}" for title in TITLES),
    "table": "| A | B |\n|---|---|\n" + "\n".join(f"| 2004 | {title} |" for title in TITLES),
    "bare table": "\n".join(f"2004-03-14 | {title}" for title in TITLES),
    "quoted": "\n".join(f"> {title}" for title in TITLES),
    "plain lines": "\n".join(TITLES),
    "one line": "; ".join(TITLES),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("language", INTRODUCTIONS)
def test_english_titles_under_a_sentence_never_make_it_english(language: str, shape: str) -> None:
    """What an archive holds is titled in its own language, and a list of it is most of the answer."""
    for introduction in INTRODUCTIONS[language]:
        for between in ("\n", "\n\n", " "):
            text = f"{introduction}{between}{SHAPES[shape]}"
            assert speaks(text, language)[0] is not False, text


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - {"plain lines", "one line"}))
@pytest.mark.parametrize(
    ("introduction", "language"), [("Son estos:", "es"), ("Hier:", "de"), ("São estes:", "pt")]
)
def test_two_words_above_a_list_leave_it_open(introduction: str, language: str, shape: str) -> None:
    """Too short to be told, but not the language of the titles."""
    assert speaks(f"{introduction}\n{SHAPES[shape]}", language)[0] is None


@pytest.mark.parametrize("shape", ["dashes", "numbers", "set in", "headings", "table", "quoted"])
@pytest.mark.parametrize("language", ["de", "fr", "it", "nl", "pl"])
def test_a_sentence_above_a_list_is_what_is_judged(language: str, shape: str) -> None:
    """Told, not only left open: in the wanted language, and not in another."""
    text = f"{INTRODUCTIONS[language][0]}\n{SHAPES[shape]}"
    assert speaks(text, language)[0] is True, text
    assert speaks(text, "en")[0] is not True, text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I found three announcements:\n- Presentamos el almacenamiento para todos", "es"),
        ("Here are the steps:\n1. First open the page and sign in.\n2. Then choose the order.", "es"),
        ("- First open the page and sign in.\n- Then choose the order that you want to return.", "es"),
        ("| First open the page and sign in. | Then choose the order that you want. |", "de"),
    ],
)
def test_a_list_does_not_hide_an_answer_in_another_language(text: str, language: str) -> None:
    """With nothing around it, or with a sentence in the same language, there is no doubt."""
    assert speaks(text, language)[0] is False


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("El más antiguo es Now you can share buckets with your team, publicado el 14 de marzo.", "es"),
        ("Se llama Now you can share buckets with your team y es de 2004.", "es"),
        ("Die älteste heißt Introducing durable storage for everyone und stammt vom März 2004.", "de"),
        ("La plus ancienne s'intitule Introducing durable storage for everyone et date de 2004.", "fr"),
    ],
)
def test_a_title_inside_a_sentence_never_turns_it_over(text: str, language: str) -> None:
    """Unquoted, and longer than what is said around it."""
    assert speaks(text, language)[0] is not False


@pytest.mark.parametrize(
    "text",
    [
        "Lo siento, no puedo ayudarte con eso. I can only answer questions about announcements.",
        "No tengo más información sobre eso. The first announcement was published in spring of 2004.",
        "I can only answer questions about announcements. Por favor, pregunte por uno de los anuncios.",
        "The first announcement is about storage.\nEl segundo habla de una cola de mensajes para todos.",
    ],
)
@pytest.mark.parametrize("language", ["es", "en"])
def test_sentences_in_two_languages_are_in_neither(text: str, language: str) -> None:
    """Whether that is an answer in the customer's language is for a person to say."""
    verdict, note = speaks(text, language)
    assert verdict is None
    assert note


@given(st.text(max_size=80), st.sampled_from(["en", "es", "pt-BR", "no", "xx", ""]))
def test_any_text_gets_a_verdict_and_a_reason(text: str, language: str) -> None:
    """Whatever an agent writes, the row is typed."""
    verdict, note = speaks(text, language)
    assert verdict in (True, False, None)
    assert note


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("The Amazon S3 bucket is full. Delete Old Files now.", "bucket is full. now."),
        ("Hola. El servicio se llama Nube Cola, y existe.", "Hola. El servicio se llama y existe."),
        ("- Primero, abra la página\n- Después, guarde", "- Primero, abra la página - Después, guarde"),
        ("see [KB-101] and `x = 1`", "see and"),
        ("Cloud Vault", "Cloud Vault"),
    ],
)
def test_own_words_are_what_is_left_without_names_and_code(text: str, own: str) -> None:
    """A word in capitals at the start of a sentence is a word; a row of them, or one inside, is a name."""
    assert own_words(text) == own
