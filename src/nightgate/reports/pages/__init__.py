"""Pages for people: static HTML that a browser opens from a folder, without server, network or script.

``shell`` is the frame that all pages share (base template, stylesheet, policy, escaping), ``visible`` makes
text from elsewhere harmless to look at, ``texts`` shortens what is long, ``figures`` marks numbers so that
a program can read them back, ``writing`` puts a page set into a folder. ``runpage`` and ``casepage`` are the
pages of a run, out of the plain ``values``; ``suitepage`` is the page of a suite's nights, out of
``suitevalues``, with ``charts`` for what is drawn. Knows no store.
"""
