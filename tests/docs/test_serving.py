"""The recipe for a web service answers as its page says."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from pages import DOCS, blocks

from flgp import FLGPRegressor, save
from flgp.tables import Schema, TableModel

pytest.importorskip("fastapi")
pytest.importorskip("httpx")


@pytest.mark.filterwarnings("ignore:Using `httpx` with")
def test_the_service_predicts_and_refuses(tmp_path, monkeypatch):
    from fastapi.testclient import TestClient

    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"width": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200)})
    table["price"] = table["width"] + (table["kind"] == "a")
    model = TableModel.fit(FLGPRegressor(random_state=0), table, Schema.of(table, "price"))
    save(model, tmp_path / "model.flgp")
    monkeypatch.setenv("FLGP_MODEL", str(tmp_path / "model.flgp"))
    (recipe,) = (block.text for block in blocks(DOCS / "serving.md") if "FastAPI()" in block.text)
    scope: dict = {"__name__": "serve"}
    exec(compile(recipe, "serving.md", "exec"), scope)
    client = TestClient(scope["app"])
    answer = client.post("/predict", json=[{"width": 0.3, "kind": "a"}, {"width": None, "kind": "b"}]).json()
    expected = model.predict(pandas.DataFrame({"width": [0.3], "kind": ["a"]}))["prediction"][0]
    assert answer["predictions"][0]["prediction"] == pytest.approx(expected)
    assert "replaced by the median" in answer["notes"][0]
    assert client.post("/predict", json=[{"width": 1e6, "kind": "a"}]).json()["far"] == 1
    refused = client.post("/predict", json=[{"width": 0.3}])
    assert refused.status_code == 422
    assert "lacks the column(s) 'kind'" in refused.json()["detail"]
