"""scikit-learn's own checks of every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from flgp import FLGPClassifier, FLGPRegressor, HeatKernelFeatures

_SAME_GRAPH = "repeating a row changes the graph (n_j, anchors), a weight does not: by design not the same"
EXPECTED_FAILURES = {
    "FLGPClassifier": {
        "check_classifiers_classes": "-1 is a class there; here it means unlabelled, as in scikit-learn's "
        "own semi-supervised estimators, which that check exempts by name",
        "check_sample_weight_equivalence_on_dense_data": _SAME_GRAPH,
    },
    "FLGPRegressor": {"check_sample_weight_equivalence_on_dense_data": _SAME_GRAPH},
}


@pytest.mark.filterwarnings("ignore:.*connected part")
@parametrize_with_checks(
    [FLGPRegressor(), FLGPClassifier(), HeatKernelFeatures()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
