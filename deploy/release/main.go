// Command release builds everything that is installed: archives, packages, images, a chart, an npm package, bills of
// materials and checksums. Builds are reproducible: two runs on one commit with the same version of Go write the same
// bytes. Every time in the output is the commit time, lists are sorted, and the machine name does not occur.
//
// Start with job.run below: every step is a file in this folder.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// platforms lists the release systems as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// sumsName is the file with the checksums for all other files.
const sumsName = "SHA256SUMS"

func main() {
	out := flag.String("out", "dist", "Output directory. Must be empty or missing")
	root := flag.String("source", filepath.Join("..", ".."), "Root of the source tree")
	only := flag.String("platforms", strings.Join(platforms, ","), "Platforms, separated by commas")
	withoutNPM := flag.Bool("without-npm", false, "Leave out the npm package, which needs npm")
	flag.Parse()
	j := job{root: *root, out: *out, platforms: strings.Split(*only, ","), withoutNPM: *withoutNPM}
	var err error
	if j.version, err = versionOf(*root); err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	fmt.Printf("version %s is in %s\n", j.version.number, *out)
}

// job is a release in the making.
type job struct {
	root, out string // the source tree, and the folder to write into
	version   version
	platforms []string // GOOS/GOARCH
	work      string   // a folder for binaries until the job ends
	// withoutNPM leaves out the npm package.
	withoutNPM bool
}

// run creates the release. The output folder must be empty: files from an earlier release would be listed in the
// checksums and published by mistake. For each product, run first compiles the programs for all systems, then packs
// archives, Linux packages, images and the bill of materials from the same binaries. Checksums come last, because the
// list includes every other file.
func (j *job) run() error {
	if err := os.MkdirAll(j.out, 0o755); err != nil {
		return err
	}
	if before, err := os.ReadDir(j.out); err != nil || len(before) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: remove an earlier release first", j.out))
	}
	var err error
	if j.work, err = os.MkdirTemp("", "release-"); err != nil {
		return err
	}
	defer os.RemoveAll(j.work)
	for _, p := range products {
		builds, err := j.build(&p)
		if err != nil {
			return err
		}
		for _, step := range []func(*product, []build) error{j.archives, j.packages, j.image, j.materials} {
			if err := step(&p, builds); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	if err := j.chart(); err != nil {
		return err
	}
	if err := j.npm(); err != nil {
		return err
	}
	return j.sums()
}

// write writes a release file into the output folder. Release files are readable by all users.
func (j *job) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(j.out, name), content, 0o644)
}

// sums writes checksums for all files, in the format for sha256sum --check.
func (j *job) sums() error {
	files, err := os.ReadDir(j.out) // sorted by name
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(j.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return j.write(sumsName, list.Bytes())
}
