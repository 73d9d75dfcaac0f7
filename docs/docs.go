// Package docs holds the documentation that the program itself prints.
package docs

import "embed"

// Glossary is glossary.md.
//
//go:embed glossary.md
var Glossary string

// Schemas are those of JSON outputs.
//
//go:embed schemas
var Schemas embed.FS
