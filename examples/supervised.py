"""Topics that tell classes apart: accuracy on new documents, and the topics of each class."""

from topicloom import MedLDAClassifier, datasets
from topicloom.corpus import split_documents

corpus = datasets.addresses()
eras = [("before 1900",) if year < 1900 else ("after 1900",) for year in corpus.times.tolist()]
train, test = split_documents(corpus.with_metadata(labels=eras), 0.3, seed=0)

model = MedLDAClassifier(8, loss="logistic", random_state=0).fit(train)
print("accuracy on new documents:", round(model.score(test), 2))
for name, topic, weight, words in model.class_topic_rows(n_topics=1, n_words=6):
    print(f"{name}: topic {topic}, weight {weight:.1f}: {words}")
print(model.predict_proba(["Peace with the tribes on the frontier."]).round(2), model.classes_)
