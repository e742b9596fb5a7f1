"""Labels of collections as scikit-learn's tools pass them, and labels that documents hardly share."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from topicloom import CompoundLDA
from topicloom.datasets import synthetic_compound
from topicloom.errors import InputError, UnknownGroupsWarning


@pytest.fixture(scope="module")
def data():
    return synthetic_compound(3, [40, 25, 35], 50, 4, doc_length=40, alpha=1.0, gamma=3.0, eta=0.1, seed=4)


def test_groups_are_routed_to_fits_and_scores(data) -> None:
    matrix, groups = data.corpus.to_matrix(), np.array(data.corpus.groups)
    quick = CompoundLDA(2, max_iter=4, random_state=0)
    with pytest.warns(UnknownGroupsWarning, match="which searches of scikit-learn pass if they are given y"):
        cross_val_score(quick, matrix, cv=2, params={"groups": groups})  # without routing these are for fit alone
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="groups"):
            cross_val_score(quick, matrix, cv=2, params={"groups": groups}, error_score="raise")
        routed = clone(quick).set_fit_request(groups=True).set_score_request(groups=True)
        found = cross_val_score(routed, matrix, cv=2, params={"groups": groups}, error_score="raise")
        search = GridSearchCV(routed, {"thin": [1, 2]}, cv=GroupKFold(2), error_score="raise")
        with pytest.warns(UnknownGroupsWarning, match="that the model knows"):  # the splitter keeps them apart
            search.fit(matrix, groups=groups)
    np.testing.assert_array_equal(found, cross_val_score(quick, matrix, groups, cv=2))
    assert search.best_estimator_.collections_ == ("collection0", "collection1", "collection2")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.linspace(0, 1, 100), r"groups has 100 different numbers for 100 documents.*give bins of the numbers"),
        (np.arange(100) // 2 * 2 + np.arange(100) % 3, "different numbers for 100 documents"),
        ([f"{d}.5" for d in range(100)], "100 different numbers"),
        (np.datetime64("2020-01-01") + np.arange(100), "100 different dates for 100 documents.*give periods"),
        ([f"id{d}" for d in range(100)], "100 different labels for 100 documents.*or use LDA"),
    ],
)
def test_labels_that_documents_hardly_share_are_refused(data, labels, message: str) -> None:
    model = CompoundLDA(3, max_iter=3, random_state=0)
    with pytest.raises(InputError, match=message):
        model.fit(data.corpus, groups=labels)
    with pytest.raises(InputError, match=message.replace("groups has", "y has")):
        model.fit(data.corpus.to_matrix(), labels)
    assert not hasattr(model, "seed_")


def test_few_documents_and_many_names_may_have_labels_of_their_own(data) -> None:
    model = CompoundLDA(3, max_iter=3, random_state=0)
    assert len(model.fit(data.corpus.select(np.arange(19)), groups=np.linspace(0, 1, 19)).collections_) == 19
    assert len(model.fit(data.corpus, groups=[f"author{d % 60}" for d in range(100)]).collections_) == 60
    assert len(model.fit(data.corpus, groups=np.arange(100) / 2 // 1).collections_) == 50
