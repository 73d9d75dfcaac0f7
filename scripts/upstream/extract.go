package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// extract writes one file of a gzipped tar archive.
func extract(archive, member, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s has no %s", archive, member)
		case err != nil:
			return err
		case h.Name != member:
			continue
		}
		making, err := os.Create(to + ".new")
		if err != nil {
			return err
		}
		_, err = io.Copy(making, r)
		if closed := making.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
		return os.Rename(to+".new", to)
	}
}
