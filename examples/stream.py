"""Documents that come in batches and are not kept: partial_fit, new words on the way, a break and a resumption."""

from topicloom import VariationalLDA, datasets, from_texts, load

texts = datasets.addresses().texts
batches = [texts[first : first + 32] for first in range(0, len(texts), 32)]

model = VariationalLDA(5, method="scvb0", new_words="add", batch_size=16, total_samples=len(texts), random_state=0)
model.partial_fit(from_texts(batches[0], stop_words="english"))  # later texts are cut alike
for batch in batches[1:3]:
    model.partial_fit(batch, score_first=True)  # scored before it is learned: an honest measure
    print(len(model.vocabulary_), "words known")

model.save("stream")
model = load("stream").partial_fit(batches[3], score_first=True)  # as without a break
print(model.stream_frame(frame="rows"))
print("a new document:", model.transform(["Peace and commerce with all nations."]).round(2))
