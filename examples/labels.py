"""Documents with several labels: words of each label, labels of new documents, precision and recall per label."""

from topicloom import PriorLDA
from topicloom.corpus import split_documents
from topicloom.datasets import synthetic_labeled

corpus = synthetic_labeled(n_docs=300, n_words=100, n_labels=5, labels_per_doc=2, doc_length=40, seed=0).corpus
train, test = split_documents(corpus, 0.3, seed=0)

model = PriorLDA(max_iter=50, random_state=0).fit(train)  # the corpus has its labels; or fit(texts, y)
for name, words in zip(model.classes_, model.top_words(4), strict=True):
    print(name, words)
print("predicted:", model.predict_labels(test.select([0])), "true:", test.labels[0])

report = model.label_report(test)
for k in report.order("support"):
    print(report.names[k], "precision", report.precision[k].round(2), "recall", report.recall[k].round(2))
