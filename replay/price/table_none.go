//go:build genpricetable

package price

// builtIn is empty in the program that writes the table (scripts/genpricetable).
var builtIn Table
