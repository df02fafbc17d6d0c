"""
Documents as histograms
=======================

A document becomes a vector by counting its words, and two documents are as similar as the inner
product of their counts. :class:`mercer.Words` is that kernel: there is no vocabulary to build, and
any list of strings will do.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, Words

dogs = [
    "The dog barked at the postman and chased the ball across the park.",
    "A loyal dog guards the house; a bored dog digs up the garden.",
    "Our dog fetches the ball, then sleeps on a lead by the door.",
    "Puppies bark, chase and chew; an old dog only barks at the postman.",
]
cats = [
    "The cat purred on the sofa and ignored the mouse on the carpet.",
    "A cat hunts a mouse at night and purrs by the fire in the morning.",
    "Our cat climbs the curtain, scratches the sofa and sleeps all day.",
    "Kittens climb and purr; an old cat only watches the mouse.",
]
documents = dogs + cats
topic = np.array([1.0] * len(dogs) + [-1.0] * len(cats))

# %%
# Histograms
# ----------

chosen = ["dog", "ball", "barked", "cat", "mouse", "purrs", "sofa", "the"]
counts = np.array([[Words.words(d).count(w) for w in chosen] for d in documents])
fig, panels = plt.subplots(2, 4, figsize=(9.6, 3.8), sharex=True, sharey=True, layout="constrained")
for i, (ax, row) in enumerate(zip(panels.ravel(), counts, strict=True)):
    ax.bar(chosen, row, color="#cc6677" if topic[i] > 0 else "#4477aa")
    ax.set_title(f"document {i + 1}", fontsize="small")
    ax.tick_params(axis="x", labelrotation=90, labelsize="small", length=0)
    ax.spines[["top", "right"]].set_visible(False)
fig.supylabel("count", fontsize="medium")
plt.show()

# %%
# The Gram matrix
# ---------------
# After normalisation, an entry is the cosine of the angle between two histograms. Two blocks are
# visible, with much background: *the* and *and* occur everywhere.

k = Words().normalize()
names = [f"{kind} {i + 1}" for kind in ("dog", "cat") for i in range(4)]


def show(K, title, ax):
    """A Gram matrix with its documents along both sides."""
    image = ax.imshow(K, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(8), names, rotation=90)
    ax.set_yticks(range(8), names)
    ax.set_title(title, fontsize="medium")
    return image


def content(texts):
    """The texts without words that carry no topic."""
    stop = {"the", "a", "an", "and", "at", "on", "by", "in", "our", "then", "only", "old"}
    return [" ".join(w for w in Words.words(t) if w not in stop) for t in texts]


fig, panels = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
show(k(documents), "all words", panels[0])
image = show(k.pullback(content)(documents), "without stop words", panels[1])
fig.colorbar(image, ax=panels, label="cosine", shrink=0.8)
plt.show()

# %%
# On the right, words without a topic are removed: ``k.pullback(content)`` is the kernel of the
# cleaned texts, k(content(x), content(y)). It classifies sentences it has not seen.

model = KernelRidge(alpha=0.1, kernel=k.pullback(content)).fit(documents, topic)
new = ["My dog chased a cat, then barked.", "The cat and the mouse", "A puppy and its ball"]
for text, score in zip(new, model.predict(new), strict=True):
    print(f"{score:+.2f}  {'dogs' if score > 0 else 'cats'}  {text}")
