// Package docs holds the documentation that the program itself prints.
package docs

import _ "embed" // the glossary

// Glossary is glossary.md.
//
//go:embed glossary.md
var Glossary string
