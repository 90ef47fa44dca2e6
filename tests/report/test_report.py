"""The report: its numbers are the model's, its text is safe, and it works in a browser."""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, str(Path(__file__).parent))
from browser import Browser, available

from conftest import ring
from flgp import FLGPClassifier, FLGPRegressor
from flgp.model_selection import evaluate
from flgp.report import write_report
from flgp.report.charts import Chart, spread, ticks
from flgp.report.kernel import scaled_lift
from flgp.report.layout import neighborhoods
from flgp.report.summary import headline
from flgp.tables import Schema, own_columns

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def regression():
    X, angle = ring(900, noise=0.03)
    y = np.where(np.arange(900) % 12 == 0, np.sin(angle), np.nan)
    return FLGPRegressor(random_state=0, residual=None).fit(X, y), X, y


@pytest.fixture(scope="module")
def classes():
    X, angle = ring(900, noise=0.03)
    wide = np.column_stack([X, X @ np.array([[1.0, 0.5], [0.2, 1.0]])])
    y = np.array(["</script><b>", "wes<t", "south"], dtype=object)[(angle / 2.1).astype(int)]
    y[np.arange(900) % 12 != 0] = None
    return FLGPClassifier(random_state=0).fit(wide, y), wide, y


def written(folder, model, X, y=None, **options):
    """The text of a report, and the data in it."""
    write_report(model, X, folder / "r.html", y, **options)
    text = (folder / "r.html").read_text(encoding="utf-8")
    return text, json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def values(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype)


def labels(data):
    found = np.full(data["n"], np.nan, dtype="f4")
    found[values(data["labeled"], "<u4")] = values(data["label"], "<f4")
    return found


def test_the_page_holds_the_models_numbers(regression, tmp_path):
    model, X, y = regression
    text, data = written(tmp_path, model, X, y, target="height", title="A & B", notes=["a <note>"])
    np.testing.assert_array_equal(values(data["prediction"], "<f4"), model.predict(X).astype("f4"))
    np.testing.assert_allclose(
        values(data["uncertainty"], "<f4"), model.predict(X, return_std=True)[1], rtol=1e-6
    )
    np.testing.assert_array_equal(labels(data), y.astype("f4"))
    assert data["row"] is None  # all of them, in their order
    places = values(data["maps"][0]["points"], "<i2").reshape(-1, 3)[:, :2] / 30_000
    middle = (
        (places - places.mean(0)) * np.linalg.norm(X - X.mean(0)) / np.linalg.norm(places - places.mean(0))
    )
    np.testing.assert_allclose(middle, X - X.mean(0), atol=2e-3)
    assert "A &amp; B" in text
    assert "a &lt;note&gt;" in text
    assert "Evidence against diffusion time" in text.split("<details>")[1]
    assert "in words" in text
    assert "Reliability" in text
    assert "so this is optimistic" in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_pages_covariance_is_the_models(regression, tmp_path):
    model, X, y = regression
    _, data = written(tmp_path, model, X, y)
    lift = values(data["lift"], "<f4").reshape(data["s"], data["M"])
    index = values(data["neighbor"], "<u2").reshape(900, data["r"])
    z = data["z"]["step"] * values(data["z"]["values"], "<i2").reshape(900, data["r"])
    features = np.einsum("nr,nrm->nm", z, lift[index])
    exact = model.covariance(X, term="manifold")
    assert np.abs(features @ features.T - exact).max() < 0.005 * exact.max()
    assert scaled_lift(model)[1] > 0.999
    others = values(data["others"], "<f4").reshape(900, data["q"])
    whole = model.covariance(X)
    assert np.abs(features @ features.T + others @ others.T - whole).max() < 0.005 * whole.max()


def test_new_points_do_not_claim_to_be_the_fitted_ones(regression, tmp_path):
    model, _, _ = regression
    X, angle = ring(200, seed=4)
    text, _ = written(tmp_path, model, X, np.sin(angle))
    assert "Reliability" in text
    assert "so this is optimistic" not in text


def test_names_of_classes_cannot_break_the_page(classes, tmp_path):
    model, X, y = classes
    text, data = written(tmp_path, model, X, y, feature_names=["<i>", "b", "c", "d"], target="</script>")
    assert data["classes"] == ["</script><b>", "south", "wes<t"]
    assert text.count("</script>") == 3
    assert "<i>" not in text.split("</style>")[1].split("viewer")[0].replace("&lt;i&gt;", "")
    codes = labels(data)
    known = ~np.isnan(codes)
    np.testing.assert_array_equal(model.classes_[codes[known].astype(int)], y[known].astype(str))
    assert data["maps"][0]["label"] == "eigenmap"


def test_control_characters_are_shown_by_symbols(regression, tmp_path):
    model, X = regression[:2]
    page, _ = written(tmp_path, model, X, target="\x1b]0;y\x07\x7f")
    assert all(letter.isprintable() or letter in "\n\t" for letter in page if ord(letter) < 0x80)
    assert "\u241b]0;y\u2407\u2421" in page


def test_many_points_are_sampled_and_it_says_so(regression, tmp_path):
    model, X, y = regression
    text, data = written(tmp_path, model, X, y, max_points=300)
    assert data["n"] == 300
    assert "300 of the 900 points" in text
    rows = values(data["row"], "<u4") - 1
    assert set(np.flatnonzero(~np.isnan(y))) <= set(rows.tolist())  # labelled ones are never left out
    np.testing.assert_array_equal(values(data["prediction"], "<f4"), model.predict(X[rows]).astype("f4"))


def test_a_report_without_labels_or_free_time(tmp_path):
    X, angle = ring(200)
    model = FLGPRegressor(diffusion_time=10.0, random_state=0, residual=None).fit(X, np.sin(angle))
    text, data = written(tmp_path, model, X)
    assert data["label"] is None
    assert "Evidence against" not in text
    assert "Reliability" not in text


def test_one_label_is_said_to_tell_nothing_apart(tmp_path):
    X, _ = ring(200)
    model = FLGPRegressor(n_anchors=40, random_state=0).fit(X, np.where(np.arange(200) == 7, 3.0, np.nan))
    np.testing.assert_allclose(model.predict(X), 3.0)
    text, _ = written(tmp_path, model, X)
    assert "All predictions are the same." in text
    assert "What predictions rest on" not in text
    assert "Effect of each column" not in text


def test_the_report_of_an_evaluated_model_says_how_good_it_is(tmp_path):
    model, X, y = evaluated()
    found = evaluate(model, X, y, prefit=True)
    text, data = written(tmp_path, model, X, y, evaluation=found, target="side")
    value = 100 * found.scores["flgp"]["accuracy"]
    assert f"right in about {min(round(value), 99)} of 100 cases" in text
    low, high = found.interval
    assert f"<dd>{value:.1f} %<small>{100 * low:.0f} to {100 * high:.0f} %</small>" in text
    assert "The best plain method is" in text
    assert text.count("<td class=right>") == 2
    for title in ("Least certain", "Most surprising labels", "Effect of each column", "Can the stated"):
        assert title in text
    surprise = values(data["channels"][0]["values"], np.float32)
    np.testing.assert_allclose(surprise[found.rows], found.losses["flgp"], rtol=1e-5)
    assert np.isnan(np.delete(surprise, found.rows)).all()
    assert [c["name"] for c in data["channels"][1:]] == [
        "distance from the data of the fit",
        "column x0",
        "column x1",
    ]


def evaluated():
    X, angle = ring(200, noise=0.02)
    y = np.where(np.arange(200) % 5 == 0, (angle > np.pi).astype(int), -1)
    return FLGPClassifier(n_anchors=40, random_state=0).fit(X, y), X, y


def test_many_classes_and_long_names_stay_readable(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    names = np.array([f"{k}-" + "long " * 2_000 for k in range(20)])
    y = names[np.arange(120) % 20].astype(object)
    plain = {"residual": None, "linear": None, "calibrate": False}
    model = FLGPClassifier(n_anchors=40, random_state=0, unlabeled=None, **plain).fit(X, y)
    text, _ = written(tmp_path, model, X, y, evaluation=evaluate(model, X, y, cv=3, prefit=True))
    assert 'class="confusion' not in text  # the most frequent confusions instead
    assert "one of 20 classes" in text
    assert len(text) < 300_000


def test_a_map_of_neighbourhoods_keeps_many_clusters_apart(tmp_path):
    """Two eigenfunctions cannot show eight clusters; most close dots of this map are of one cluster."""
    rng = np.random.default_rng(0)
    truth = rng.integers(8, size=1600)
    X = 6.0 * rng.normal(size=(8, 6))[truth] + rng.normal(size=(1600, 6))
    y = np.where(rng.uniform(size=1600) < 0.05, truth, -1)
    model = FLGPClassifier(n_anchors=200, random_state=0).fit(X, y)
    _, data = written(tmp_path, model, X, y)
    maps = {m["label"]: values(m["points"], "<i2").reshape(1600, m["width"]) for m in data["maps"]}
    assert next(iter(maps)) == "neighbourhoods"

    def kept(places):
        _, near = NearestNeighbors(n_neighbors=11).fit(places.astype(float)).kneighbors()
        return np.mean(truth[near] == truth[:, None])

    assert kept(maps["neighbourhoods"]) > 0.97
    assert kept(maps["eigenmap"][:, :2]) < kept(maps["neighbourhoods"])
    again = neighborhoods(model, X, model._inputs(X).places, X[:5])
    np.testing.assert_allclose(again[1], again[0][:5], rtol=1e-12)
    # Between rows where no eigenfunction varies the columns decide.
    apart = np.concatenate([X, 1e3 + rng.normal(size=(400, 6))])
    with pytest.warns(UserWarning, match="no label"):
        other = FLGPClassifier(n_anchors=200, random_state=0).fit(
            apart, np.concatenate([y, np.full(400, -1)])
        )
    laid = neighborhoods(other, apart, other._inputs(apart).places, X[:0])[0]
    assert np.ptp(laid[1600:], axis=0).min() > 0.02 * np.ptp(laid, axis=0).max()
    copies = np.repeat(X[:4], 30, axis=0)
    assert len(np.unique(neighborhoods(model, copies, model._inputs(copies).places, X[:0])[0], axis=0)) <= 4


def test_many_notes_are_folded_away(regression, tmp_path):
    model, X, y = regression
    text, _ = written(tmp_path, model, X, y, notes=[f"note <{k}>" for k in range(5)], max_points=100)
    folded = re.search(r"How the table was read: 5 notes</summary>(.*?)</details>(.*?)</section>", text, re.S)
    assert folded[1].count("<p") == 5
    assert "note &lt;4&gt;" in folded[1]
    assert "The view shows 100 of the 900 points" in folded[2]


def test_few_labels_are_said_to_leave_much_open(classes):
    model, X, y = classes
    known = np.flatnonzero(y != None)  # noqa: E711
    found = evaluate(model, X, y, cv=3, prefit=True)
    assert "leave open" not in headline(model, found, len(X), len(known), "y", np.zeros(1))
    few = y.copy()
    few[np.setdiff1d(np.arange(900), known[::7])] = None
    found = evaluate(model, X, few, cv=3)
    assert "11 labels leave open anything from" in headline(model, found, len(X), 11, "y", np.zeros(1))


def test_ticks_are_round_and_inside():
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-3.0, 3.0) == pytest.approx([-2, 0, 2])
    assert ticks(0.13, 0.14) == pytest.approx([0.13, 0.132, 0.134, 0.136, 0.138, 0.14])
    low, high = spread(np.array([2.0, 2.0]))
    assert low < 2 < high
    chart = Chart((1.0, 1000.0), (0.0, 1.0), "a<b", "c", log_x=True)
    chart.line(np.array([1.0, 1000.0]), np.array([0.0, 1.0]))
    svg = chart.svg("t")
    assert "a&lt;b" in svg
    assert 'points="58.0,238.0 408.0,10.0"' in svg


AT = (
    "const b = document.getElementById('view').getBoundingClientRect(), v = window.flgpReport.screen,"
    "k = document.getElementById('view').width / b.width;"
    "return [b.x + v[2 * {0}] / k, b.y + v[2 * {0} + 1] / k]"
)


needs_browser = pytest.mark.skipif(not available(), reason="no chromium and chromedriver")


@pytest.fixture
def browser(tmp_path):
    made = Browser(tmp_path / "profile")
    yield made
    made.close()


@needs_browser
def test_the_report_works_in_a_browser(regression, browser, tmp_path):
    model, X, y = regression
    write_report(model, X, tmp_path / "r.html", y)
    browser.open(tmp_path / "r.html")
    assert browser.run("return document.title") == "Heat-kernel Gaussian process"
    before = browser.run("return document.getElementById('view').toDataURL()")
    assert browser.run("return window.flgpReport.state.color") == "prediction"
    # A click on a point shows the covariance from it, as the model knows it.
    browser.run("document.getElementById('view').scrollIntoView()")
    x, at_y = browser.run(AT.format(5))
    browser.click(x, at_y)
    chosen = browser.run("return window.flgpReport.state.selected")
    assert chosen >= 0
    assert browser.run("return window.flgpReport.state.color") == "covariance"
    assert f"row {chosen + 1} " in browser.run("return document.getElementById('chosen').textContent")
    shown = browser.run(
        "return Array.from(window.flgpReport.covarianceFrom(window.flgpReport.state.selected))"
    )
    exact = model.covariance(X, X[chosen : chosen + 1])[:, 0]
    np.testing.assert_allclose(shown, exact, atol=0.005 * exact.max())
    browser.run("window.flgpReport.draw()")
    after = browser.run("return document.getElementById('view').toDataURL()")
    assert after != before
    # The view moves, the theme changes, and the page had nothing to complain about.
    browser.drag(x, at_y, 60, 20)
    assert browser.run("return window.flgpReport.state.x") != 0
    browser.run("document.getElementById('theme').click()")
    assert browser.run("return document.documentElement.dataset.theme") in ("light", "dark")
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.run(wide)
    assert browser.log() == []


@needs_browser
def test_lists_sort_and_points_are_coloured_by_columns(browser, tmp_path):
    model, X, y = evaluated()
    write_report(model, X, tmp_path / "r.html", y, evaluation=evaluate(model, X, y, prefit=True))
    browser.open(tmp_path / "r.html")
    column = (
        "return [...document.querySelectorAll('section.list tbody tr')]"
        ".slice(0, 50).map((r) => +r.cells[0].textContent)"
    )
    before = browser.run(column)
    browser.run("document.querySelector('section.list thead button').click()")
    assert browser.run(column) == sorted(before) != before
    browser.run("document.querySelector('section.list thead button').click()")
    assert browser.run(column) == sorted(before, reverse=True)
    assert browser.run("return document.querySelectorAll('section.list > button').length") == 2
    picture = "window.flgpReport.draw(); return document.getElementById('view').toDataURL()"
    first = browser.run(picture)
    browser.run(
        "const list = document.getElementById('color'); list.value = 'channel2';"
        "list.dispatchEvent(new Event('change'))"
    )
    assert browser.run(picture) != first
    assert "column x0" in browser.run("return document.getElementById('legend').textContent")
    assert browser.log() == []


@needs_browser
def test_columns_are_shown_as_the_table_has_them(browser, tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "size": rng.uniform(1000, 2000, 120).round(2),
            "day": pandas.Timestamp("2021-03-01") + pandas.to_timedelta(np.arange(120), unit="D"),
            "start": [f"{h:02d}:30" for h in rng.integers(0, 24, 120)],
            "kind": rng.choice(["apple", "pear", "quince"], 120),
            "bio": rng.choice(["yes", "no"], 120),
            "price": rng.normal(size=120),
        },
        index=np.arange(120) + 2,
    )
    schema = Schema.of(frame, "price")
    plain = {"residual": None, "linear": None, "n_anchors": 30}
    model = FLGPRegressor(random_state=0, **plain)
    X = schema.matrix(frame)
    model.fit(X, frame["price"])
    own = own_columns(schema, frame)
    assert [column.name for column in own] == ["size", "day", "start", "kind", "bio"]
    assert [k for column in own for k in column.features] == list(range(X.shape[1]))
    text, _ = written(tmp_path, model, X, frame["price"], columns=own, numbers=frame.index)
    effects = re.search(r'class="effects">(.*?)</table>', text, re.S)[1]
    assert sorted(re.findall(r'scope="row">(.*?)</th>', effects)) == ["bio", "day", "kind", "size", "start"]
    browser.open(tmp_path / "r.html")
    browser.run("window.flgpReport.select(7)")
    said = browser.run("return document.getElementById('chosen').textContent")
    row = frame.loc[9]
    assert said.startswith("row 9 ")
    for part in (f"size {row['size']:g}", "day 2021-03-08", f"start {row['start']}", f"kind {row['kind']}"):
        assert f"column {part}" in said
    assert f"column bio {row['bio']}" in said
    browser.run(
        "const list = document.getElementById('color'); list.value = 'channel4';"
        "list.dispatchEvent(new Event('change'))"
    )
    assert browser.run("return document.getElementById('legend').innerText").split() == [
        "apple",
        "pear",
        "quince",
    ]
    browser.run("window.flgpReport.showRow(9)")
    assert browser.run("return window.flgpReport.state.selected") == 7
    assert browser.log() == []


@needs_browser
def test_pointing_filtering_and_lists(browser, tmp_path):
    model, X, y = evaluated()
    write_report(
        model, X, tmp_path / "r.html", y, evaluation=evaluate(model, X, y, prefit=True), target="side"
    )
    browser.open(tmp_path / "r.html")
    browser.run("document.getElementById('view').scrollIntoView()")
    # Pointing shows the row, its probabilities and its columns.
    browser.hover(*browser.run(AT.format(7)))
    at = browser.run("return window.flgpReport.state.hovered")
    tip = browser.run("const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText")
    assert f"row {at + 1}" in tip
    assert f"P({model.predict(X[[at]])[0]})" in tip
    assert f"{model.predict_proba(X[[at]]).max():.3f}" in tip
    assert "column x1" in tip
    # One class alone: the points of others are neither drawn nor found.
    browser.run(
        "const list = document.getElementById('class'); list.value = '1';"
        "list.dispatchEvent(new Event('change')); window.flgpReport.draw()"
    )
    shown = browser.run("return Array.from(window.flgpReport.screen).filter((v, k) => k % 2 === 0)")
    visible = np.array(shown) > -1e5
    np.testing.assert_array_equal(visible, (model.predict(X) == 1) | (y == 1))
    browser.run("document.getElementById('reset').click()")
    # A row of a list shows its point, and the list is saved as it stands.
    browser.run("document.querySelector('section.list tbody tr').click()")
    first = browser.run("return +document.querySelector('section.list tbody tr').cells[0].textContent")
    assert browser.run("return window.flgpReport.state.selected") == first - 1
    saved = browser.run(
        "let got; HTMLAnchorElement.prototype.click = function () { got = [this.download, this.href]; };"
        "document.querySelector('section.list > button').click(); return got"
    )
    assert saved[0] == "uncertain.csv"
    assert saved[1].startswith("data:text/csv;charset=utf-8,row%2Cprediction")
    assert f"%0A{first}%2C" in saved[1]
    assert browser.log() == []


@needs_browser
def test_a_click_shows_the_kernel_of_the_whole_f(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = np.where(np.arange(300) % 3 == 0, np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1]), np.nan)
    model = FLGPRegressor(n_anchors=40, residual="local", linear="all", random_state=0).fit(X, y)
    assert model._process_.names[-1] == "local"
    write_report(model, X, tmp_path / "r.html", y)
    browser.open(tmp_path / "r.html")
    shown = browser.run("return Array.from(window.flgpReport.covarianceFrom(5))")
    exact = model.covariance(X, X[[5]])[:, 0]
    np.testing.assert_allclose(shown, exact, atol=0.005 * exact.max())


@needs_browser
def test_it_prints(regression, tmp_path):
    model, X, y = regression
    write_report(model, X, tmp_path / "r.html", y)
    browser = Browser(tmp_path / "profile", dark=True)
    try:
        browser.open(tmp_path / "r.html")
        view = "const v = document.getElementById('view'); return "
        corner = view + "Array.from(v.getContext('2d').getImageData(3, 3, 1, 1).data)"
        shape = view + "[v.width / v.height, v.clientWidth / v.clientHeight]"
        head = "return document.querySelector('section.list th button').getBoundingClientRect().height"
        browser.run("window.flgpReport.draw()")
        assert browser.run(corner)[:3] == [26, 32, 41]
        browser.media("print")
        time.sleep(0.5)  # a frame
        assert browser.run(corner)[:3] == [255, 255, 255]  # no dark map on white paper
        drawn, shown = browser.run(shape)
        assert shown == pytest.approx(drawn, rel=0.02)  # circles stay circles
        assert browser.run(head) > 0
        assert (
            browser.run("return getComputedStyle(document.querySelector('.list > button')).display") == "none"
        )
        bar = "return getComputedStyle(document.querySelector('.bar')).printColorAdjust"
        assert browser.run(bar) == "exact"
        printed = browser.pdf()
        assert printed.startswith(b"%PDF")
        assert len(printed) > 20_000
    finally:
        browser.close()


@needs_browser
def test_the_report_fits_a_phone(classes, tmp_path):
    model, X, y = classes
    write_report(model, X, tmp_path / "r.html", y, title="A" * 80, feature_names=["a" * 90, "b", "c", "d"])
    phone = Browser(tmp_path / "profile", 500, 800, dark=True)
    try:
        phone.open(tmp_path / "r.html")
        assert phone.run("return document.documentElement.scrollWidth <= window.innerWidth")
        dark = phone.run("return getComputedStyle(document.body).backgroundColor")
        assert dark == "rgb(18, 22, 28)"
        assert phone.log() == []
    finally:
        phone.close()
