"""Languages that an operator adds to the customer's page with a file: French, incomplete on purpose, and Hebrew, which is
written from right to left."""

import json
import re

import pytest
from playwright.sync_api import expect

from order_system import HOME, OrderSystem
from riders import Rider
from trips import to_the_door

FRENCH = {
    "language": "fr", "name": "Français",
    "statuses": {"accepted": {"short": "Acceptée", "long": "Votre commande est acceptée", "next": "Elle sera bientôt préparée."},
                 "in_transit": {"short": "En route", "long": "Votre commande est en route"}},
    "customer": {"title": {"delivery": "Votre commande"}, "progress": "Suivi", "details": "Détails", "share": "Partager",
                 "sinceTime": "Depuis {time}", "live": "En direct", "rider": {"delivery": "Votre livreur"},
                 "order": {"delivery": "Commande"}},
    "shared": {"language": "Langue"},
    "times": {"within": "Arrivée dans {time}", "awayWithin": "{who} est à {far} et arrive dans {time}."},
}
HEBREW = {"language": "he", "name": "עברית", "direction": "rtl", "customer": {"progress": "התקדמות"}}


@pytest.fixture
def world(make_site, tmp_path):
    folder = tmp_path / "languages"
    folder.mkdir()
    for texts in (FRENCH, HEBREW):
        (folder / f"{texts['language']}.json").write_text(json.dumps(texts))
    return OrderSystem(make_site(PAGES_LANGUAGES_DIR=folder))


def test_a_french_reader_gets_the_file_and_english_where_it_has_nothing(world, open_devices, axe):
    delivery = world.delivery("accepted")
    page = open_devices(world.site).phone(delivery.guest_url, locale="fr-FR")
    expect(page.locator("#headline")).to_have_text("Votre commande est acceptée")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    expect(page.locator("#progress h2")).to_have_text("Suivi")
    expect(page.locator("#steps [aria-current]")).to_contain_text(re.compile(r"Depuis \d\d:\d\d"))
    expect(page.locator("#share")).to_have_text("Partager")
    # Not in the file.
    expect(page.locator("#steps li").last).to_contain_text("Delivered")
    delivery.status("preparing", "ready_for_pickup", "in_transit")
    with_rider = Rider(world, delivery).travel()
    with_rider.report(to_the_door(HOME, meters_away=3_000).at(0), is_answered=True)
    expect(page.locator("#age")).to_have_text("En direct")
    expect(page.locator("#map-description")).to_contain_text(re.compile("Votre livreur"))
    with_rider.close()
    axe(page)


def test_the_reader_chooses_among_all_languages(world, open_devices):
    page = open_devices(world.site).phone(world.delivery("accepted").guest_url)
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    choice = page.get_by_label("Language")
    expect(choice.locator("option")).to_have_text(["Deutsch", "English", "Français", "עברית"])
    choice.select_option("he")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator("#progress h2")).to_have_text("התקדמות")
    expect(page.locator("#headline")).to_have_text("Your order has been accepted")
    page.get_by_label("Language").select_option("de")
    expect(page.locator("#headline")).to_have_text("Ihre Bestellung wurde angenommen")
    expect(page.locator("html")).to_have_attribute("dir", "ltr")


# The left edges of two characters of a text, as they are drawn.
EDGES = """(element, [from, to]) => {
  const at = (place) => {
    const range = document.createRange();
    range.setStart(element.firstChild, place);
    range.setEnd(element.firstChild, place + 1);
    return range.getBoundingClientRect().left;
  };
  return [at(from), at(to)];
}"""


def test_what_people_wrote_keeps_its_own_direction(world, open_devices):
    items = ["2 pizzas", "1 water!", "2 × פלאפל!"]
    delivery = world.delivery("accepted", display={"items": items})
    for locale in ("he-IL", "en-US"):
        page = open_devices(world.site).phone(delivery.guest_url, locale=locale)
        expect(page.locator("#items")).to_have_text("\n".join(items))
        text = "\n".join(items)
        two, pizza = page.locator("#items").evaluate(EDGES, [0, 2])
        assert two < pizza, locale
        water, mark = page.locator("#items").evaluate(EDGES, [text.index("water"), text.index("!")])
        assert water < mark, locale
        falafel, last = page.locator("#items").evaluate(EDGES, [text.index("פ"), len(text) - 1])
        assert falafel > last, locale
