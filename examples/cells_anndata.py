"""Single cells: from AnnData to topics, from topics to BED files, and back to AnnData. Needs topicloom[cells]."""

from topicloom import LDA, cells, from_anndata
from topicloom.datasets import synthetic_cells

adata = synthetic_cells(200, 800, 4, fragments_per_cell=80.0, seed=0).to_anndata()  # or anndata.read_h5ad(...)
corpus = from_anndata(adata, binarize=True, min_cells=3)
model = LDA(4, max_iter=80, random_state=0).fit(corpus)

sets = cells.feature_sets(model)  # regions of each topic, by Otsu's threshold
print({name: len(members) for name, members in sets.to_dict().items()})
print([path.name for path in cells.write_region_sets("regions", sets)])

cells.annotate(adata, model)
print(adata.obsm["X_topics"].shape, adata.varm["topics"].shape)
