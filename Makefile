# .ci/run is what CI runs.
.PHONY: build test update generate lint race bench fuzz check clean

build:
	go build -trimpath -o ctxkit .

test:
	go test ./...

# Rewrites goldens, scripts and the examples in Markdown files.
update:
	go test -tags ci $$(grep -rlE 'report/golden"|flag\.Bool\("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update

generate:
	go generate ./...

lint:
	.ci/run lint

race:
	.ci/run race

bench:
	go test -tags ci -run '^$$' -bench . -benchmem ./...

# make fuzz PACKAGE=./report NAME=FuzzWrap
fuzz:
	go test -tags ci -run '^$$' -fuzz '^$(NAME)$$' -fuzztime 10m $(PACKAGE)

check:
	.ci/run

clean:
	rm -f ctxkit ctxkit.exe
