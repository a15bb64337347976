"""The words that forms of clauses are made of: parts of regular expressions, in English."""

from __future__ import annotations


def one_of(phrases: str) -> str:
    """An alternation of phrases that are separated by commas, earlier ones first; each may be a form itself.

    >>> one_of("dog, cats?")
    '(?:dog|cats?)'
    """
    return "(?:" + "|".join(" ".join(phrase.split()) for phrase in phrases.split(",")) + ")"


I_AM = r"i(?:'m| am)(?: now| currently| still| also| actually)?"
_HOW = one_of("really, absolutely, also, still, now, just, totally, truly, especially, particularly, actually, always")
ADVERB = rf"(?:{_HOW} )*"
PERSON = r"(?!(?:a|an|the|not|so|very|that|just) )\w[\w'’.-]*(?: (?-i:[A-ZÀ-ÖØ-Þ])[\w'’.-]*){0,3}"
PLACE = (
    r"(?-i:(?:the )?[A-ZÀ-ÖØ-Þ\u4e00-\u9fff])[\w'’.-]*"
    r"(?:,? (?:(?:of|de|del|la|las|los|am|an der|upon|the|du|den|and) )?"
    r"(?-i:[A-ZÀ-ÖØ-Þ0-9\u4e00-\u9fff])[\w'’.-]*){0,5}"
)
_BEHIND = one_of(
    "now, these, and, with, near, by, for, since, where, at, close, right, together, as, in, last, this, but, again, "
    "until, next"
)
ON = rf"(?:,? {_BEHIND}\b.*)?"
"""How a clause may go on behind a place."""
_NO_OBJECT = one_of(
    """
    how, that, it, this, these, those, you, your, them, him, her, his, their, our, we, what, when, where, who, why,
    to (?:think|see|know|hear|say|be|have|get|look), seeing, being, having, knowing, hearing, getting,
    the (?:way|idea|fact|sound|look), so, one, all, every, everything, some, any
    """
)
OBJECT = rf"(?!{_NO_OBJECT}\b)\S.{{1,59}}?"
SHORT = r"\S.{0,59}?"
LATELY = r"(?: now| anymore| any more| too| as well| these days| so much| a lot| very much| the most| more)?"
_DAY = one_of(
    r"""
    \d, the \d, (?:mon|tues|wednes|thurs|fri|satur|sun)day, (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*,
    tomorrow, tonight, today, next, this, noon, midnight, the end, eod, christmas, easter
    """
)
WHEN = (
    rf"(?:by|on|before|until|at) {_DAY}.{{0,40}}|tomorrow.{{0,30}}|tonight|next (?:week|month|year|\w+day).{{0,20}}"
    r"|this (?:week|month|weekend|afternoon|evening|morning|\w+day).{0,20}"
)
ORDER = one_of(
    """
    use, reply, respond, answer, write, send, ask, include, add, call, book, format, show, start, end, run, commit,
    push, delete, share, store, translate, speak, check, confirm, cite, put, avoid, mention, assume, round, sign, test,
    merge, deploy, address, order
    """
)
CHOICE = r"(?!(?:it|them|that|this|you|us|the same|one|him|her)\b)\S.{1,60}?"
VALUE = (
    r"(?:(?-i:[A-ZÀ-ÖØ-Þ])[\w'’&./-]*(?: [\w'’&./-]+){0,5}|[$€£¥#@~/]?\S*\d\S*(?: [\w%€$.,:/-]+){0,4}|https?://\S+"
    r"|\S+@\S+|`[^`]+`|on|off|enabled|disabled|true|false|open|closed|done|ready|cancelled|canceled"
    r"|(?:[a-z]+ ){0,2}(?:red|green|blue|black|white|yellow|pink|orange|purple|grey|gray|brown))"
)
NOUNS = (
    r"(?!(?:only|main|first|last|best|point|question|problem|thing|idea) (?:thing|one|reason)\b)"
    r"[a-z][\w'/-]*(?: [\w'/-]+){0,3}?"
)
_WHOSE = one_of(
    """
    work, home, personal, private, new, current, default, preferred, usual, favou?rite, mobile, cell, billing, shipping,
    frequent, flyer, user, account, member(?:ship)?, passport, customer, order, middle, last, maiden, nick, native,
    first
    """
)
_OWN = one_of(
    """
    nick ?name, surname, e-?mail(?: address)?, phone(?: number)?, number, address, birthday, birth date,
    date of birth, age, height, weight, job, occupation, profession, employer, company, team, role, title, manager,
    boss, nationality, language, time ?zone, currency, size, shoe size, seat, airline, airport, hotel, diet, blood type,
    id, username, handle, password hint, payment method, plan, school, university, major, degree, hobby, pronouns,
    hometown, city, country, budget, deadline, editor, browser, shell, os, operating system, framework, colou?r, food,
    dish, drink, cuisine, movie, film, book, song, band, artist, singer, game, sport, season, animal, restaurant, place,
    show, author, genre, brand, flavou?r, subject, tea, coffee, wine, tool, library
    """
)
OWNED = rf"(?:{_WHOSE} )*{_OWN}"
_KIN = one_of(
    """
    mother, father, mom, mum, dad, sister, brother, wife, husband, partner, girlfriend, boyfriend, son, daughter, kid,
    child, friend, boss, colleague, roommate, flatmate, neighbou?r, uncle, aunt, cousin, niece, nephew, grandma,
    grandpa, grandmother, grandfather, dog, cat, pet, fianc[eé]e?
    """
)
RELATIVE = rf"(?:{one_of('older, younger, little, big, twin, best, late, ex-?, step')} ?)*{_KIN}"
"""People and pets that somebody calls "my …"."""
DIET = one_of("vegan, vegetarian, pescatarian, flexitarian, omnivore")
"""Of these somebody keeps to one; the conditions may hold together."""
CONDITION = one_of(
    """
    kosher, halal, (?:lactose|gluten|fructose|histamine)[- ]intolerant, gluten[- ]free, c(?:o)?eliac, diabetic,
    asthmatic, epileptic, teetotal, pregnant, deaf, blind, colou?r[- ]?blind, left[- ]handed, dyslexic, autistic
    """
)
ILLNESS = r"(?:type [12] |chronic |severe |mild |bad )?" + one_of(
    r"""
    diabetes, asthma, epilepsy, adhd, add, autism, dyslexia, migraines?, arthritis, hypertension, an?xiety, depression,
    high blood pressure, low blood pressure, a heart condition, a bad (?:back|knee), c(?:o)?eliac disease, eczema,
    insomnia, tinnitus, ibs, gout, cancer, vertigo, sleep apn(?:o)?ea, a pacemaker, (?:a )?lactose intolerance,
    (?:a )?gluten intolerance
    """
)
COUNT = one_of("an?, one, two, three, four, five, six, seven, eight, nine, ten, no, \\d{1,2}")
KEPT = one_of(
    """
    kids?, child(?:ren)?, sons?, daughters?, brothers?, sisters?, siblings?, twins?, dogs?, cats?, pets?, horses?,
    rabbits?, grandchild(?:ren)?, grandkids?
    """
)
MARITAL = one_of("married, single, divorced, engaged, widowed, separated")
TRADE = r"(?:[\w-]+ ){0,3}" + one_of(
    """
    engineer, developer, programmer, teacher, nurse, doctor, lawyer, designer, student, writer, artist, manager,
    scientist, researcher, analyst, consultant, accountant, chef, cook, photographer, architect, journalist, musician,
    professor, counsel(?:l)?or, therapist, dentist, pharmacist, pilot, driver, farmer, founder, freelancer, librarian,
    translator, electrician, plumber, carpenter, mechanic, veterinarian, vet, social worker, data scientist,
    product owner
    """
)
