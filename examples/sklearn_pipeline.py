"""LDA between a vectorizer and a classifier of scikit-learn, with the number of topics chosen by grid search."""

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from topicloom import LDA, datasets

corpus = datasets.addresses()
era = ["before 1900" if year < 1900 else "after 1900" for year in corpus.times]
train, test, y_train, y_test = train_test_split(list(corpus.texts), era, stratify=era, random_state=0)
pipe = Pipeline(
    [
        ("words", CountVectorizer(stop_words="english", min_df=3)),
        ("topics", LDA(max_iter=50, random_state=0)),
        ("classes", LogisticRegression(C=10.0)),
    ]
)
search = GridSearchCV(pipe, {"topics__n_components": [4, 8]}, cv=2).fit(train, y_train)
print("best:", search.best_params_)
print("accuracy on new texts:", round(search.score(test, y_test), 2))

model = search.best_estimator_["topics"].set_vocabulary(search.best_estimator_[:-2])
print(model.top_words(5)[0])
