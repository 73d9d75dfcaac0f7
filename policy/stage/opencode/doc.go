// Package opencode reproduces how OpenCode manages the context of a session:
// which tool outputs it clears (prune), when it compacts (overflow), what is
// visible after a compaction, what its prompt loop does next and what the
// model is sent.
//
// Three versions are reproduced: Pinned (commit 8c4bf225, package 1.1.36),
// V1_18_3 and V1_18_34. What differs between them is data in a Version. The
// package works on OpenCode's own message store, not on a view of a session;
// stages that apply a rule to other sessions share its small functions
// (Estimate, Walk, Version.Usable, Version.Count, Version.IsOverflow,
// Truncate) and its texts.
//
// "Section" in a comment is a section of docs/internals/opencode.md. testdata/cases holds
// inputs with the answers of OpenCode's own code in each version.
//
// Not modelled: the text of the compaction request, the request decorations of
// the plan and build agents, plugins, and results of provider-executed tools
// inside an assistant message. A lone surrogate arrives here as U+FFFD: one
// UTF-16 unit, as in JavaScript, but in JSON text JavaScript writes six.
package opencode
