"""Topics of a list of texts: fit, words, documents, new texts, a page and a saved model."""

from topicloom import LDA, datasets, load

texts = datasets.addresses().texts  # any list of strings

model = LDA(6, max_iter=100, random_state=0).fit(texts, stop_words="english", min_df=3, max_df=0.5)
for topic, words in enumerate(model.top_words(6)):
    print(topic, *words)

print(model.top_docs(0, n_docs=2, frame="rows", text_length=50))  # the texts behind topic 0
print(model.transform(["Peace, freedom and security."]).round(2))

model.explore("topics.html", documents=20)  # one file for the browser
model.save("model")  # JSON and safetensors, no pickle
print("the same after loading:", load("model").fingerprint_ == model.fingerprint_)
