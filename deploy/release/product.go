package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// product is a program with all files for an installation.
type product struct {
	name    string // program, packages and unit
	summary string
	// module is the folder with the program's Go module, and pkg the package in the module.
	module, pkg string
	dockerfile  string // describes the image
	files       []file // besides the program, the unit and the licences
	// preinst and postinst are names in the folder scripts. A product without users needs no preinst.
	preinst, postinst string
	completions       bool
}

// file is a source tree file that packages install.
type file struct {
	source, path string
	mode         os.FileMode
	settings     bool // upgrades keep administrators' changes
}

// hostGroup is the host user's group, in the unit and in the scripts.
const hostGroup = "signalbox"

var products = []product{
	{
		name: "signalbox", summary: "coordination service: locks, semaphores, elections, discovery, configuration",
		module: ".", pkg: "./cmd/signalbox", dockerfile: "deploy/Dockerfile",
		preinst: "host.preinst", postinst: "host.postinst", completions: true,
		files: []file{
			{source: "deploy/systemd/alone.yaml", path: "etc/signalbox/signalbox.yaml", mode: 0o640, settings: true},
			{source: "deploy/systemd/signalbox.env", path: "etc/default/signalbox", mode: 0o644, settings: true},
			{source: "deploy/systemd/signalbox.yaml", path: docs("signalbox", "examples/cluster.yaml"), mode: 0o644},
		},
	},
	{
		name: "signalbox-ydb", summary: "gateway by which programs on the SDKs of YDB use Signalbox",
		module: "gateway/ydb", pkg: "./signalbox-ydb", dockerfile: "deploy/ydb.Dockerfile",
		postinst: "gateway.postinst",
		files: []file{
			{source: "deploy/systemd/signalbox-ydb.env", path: "etc/default/signalbox-ydb", mode: 0o644,
				settings: true},
		},
	},
}

// docs returns a page's path in Linux packages.
func docs(product, page string) string { return "usr/share/doc/" + product + "/" + page }

// pages returns the documents for every product: the docs pages with the guides, the licence and the changes.
func (j *job) pages() (list []item, err error) {
	for _, folder := range []struct{ source, path string }{{"docs", ""}, {"docs/guides", "guides"}} {
		found, err := fs.Glob(os.DirFS(j.root), folder.source+"/*.md")
		if err != nil {
			return nil, err
		}
		slices.Sort(found)
		pages, err := j.items(folder.path, found)
		if err != nil {
			return nil, err
		}
		list = append(list, pages...)
	}
	rest, err := j.items("", []string{"LICENSE", "CHANGELOG.md"})
	return append(list, rest...), err
}

// unit is the unit of systemd for packages: without the first lines, about an installation by hand, and with the
// program in /usr/bin, as packages must not install below /usr/local.
func (j *job) unit(p *product) (text []byte, err error) {
	source, err := os.ReadFile(filepath.Join(j.root, "deploy", "systemd", p.name+".service"))
	_, rest, _ := strings.Cut(string(source), "\n\n")
	return []byte(strings.ReplaceAll(rest, "/usr/local/bin/", "/usr/bin/")), err
}
