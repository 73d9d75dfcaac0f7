module github.com/ctxkit/ctxkit/scripts/lab

go 1.26.0
