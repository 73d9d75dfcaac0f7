// Package stage holds the stages a policy is made of: one file a stage. Each
// file has one function defineX that gives the stage's Definition; All, which
// lists them, is generated.
package stage

//go:generate go run ../../scripts/genstages
