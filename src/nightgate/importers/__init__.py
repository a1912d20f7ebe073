"""Other tools' records as cases of ours. Importers read and propose; a person confirms."""
