package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// item is a file or a folder in an archive, a package or a layer.
type item struct {
	path    string // relative, with slashes on every system
	mode    fs.FileMode
	content []byte
	uid     int    // uid and gid, for archives and layers
	group   string // by name, for packages; "": root
	// settings are kept by upgrades.
	settings bool
}

// archives writes one product archive per system, with the program, pages, licences and completions. Linux archives
// also contain the systemd unit and its settings, because archives are installed by hand.
func (j *job) archives(p *product, builds []build) error {
	pages, err := j.pages()
	if err != nil {
		return err
	}
	units, err := j.units(p)
	if err != nil {
		return err
	}
	for _, b := range builds {
		list := []item{{path: p.name, mode: 0o755, content: b.binary},
			{path: "third-party-licences.txt", mode: 0o644, content: b.shared.licences}}
		for _, page := range pages {
			if strings.HasSuffix(page.path, ".md") && page.path != "CHANGELOG.md" {
				page.path = path.Join("docs", page.path)
			}
			list = append(list, page)
		}
		for _, c := range b.shared.completions {
			c.path = path.Join("completions", p.name+"."+c.path)
			list = append(list, c)
		}
		if b.os == "linux" {
			list = append(list, units...)
		}
		name := fmt.Sprintf("%s_%s_%s_%s", p.name, j.version.number, b.os, b.arch)
		text, err := pack(name, list, j.version.date)
		if err == nil {
			err = j.write(name+".tar.gz", text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// units returns a product's systemd unit and its settings, exactly as in the source tree: the first lines in the files
// explain a manual installation.
func (j *job) units(p *product) ([]item, error) {
	sources := []string{"deploy/systemd/" + p.name + ".service"}
	for _, f := range p.files {
		sources = append(sources, f.source)
	}
	return j.items("systemd", sources)
}

// items returns source tree files, placed in an archive folder.
func (j *job) items(folder string, sources []string) (list []item, err error) {
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(j.root, source))
		if err != nil {
			return nil, err
		}
		list = append(list, item{path: path.Join(folder, path.Base(source)), mode: 0o644, content: text})
	}
	return list, nil
}

// pack makes a compressed archive with a single folder at the top, so that unpacking never spreads files over the
// current folder.
func pack(top string, list []item, at time.Time) ([]byte, error) {
	under := []item{{path: top, mode: fs.ModeDir | 0o755}}
	for _, i := range list {
		i.path = path.Join(top, i.path)
		under = append(under, i)
	}
	plain, err := tarOf(under, at)
	if err != nil {
		return nil, err
	}
	return compress(plain)
}

// compress is gzip without a name and without a time in the header: both would differ between two runs.
func compress(plain []byte) ([]byte, error) {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err := w.Close()
	return to.Bytes(), err
}

// tarOf returns a tar archive with items sorted by path and all parent folders. Owners are numeric without names, and
// all times are the commit time.
func tarOf(list []item, at time.Time) ([]byte, error) {
	all := make(map[string]item)
	for _, i := range list {
		for above := path.Dir(i.path); above != "."; above = path.Dir(above) {
			if _, said := all[above]; !said {
				all[above] = item{path: above, mode: fs.ModeDir | 0o755}
			}
		}
		all[i.path] = i
	}
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		i := all[p]
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: i.path, Mode: int64(i.mode.Perm()), Size: int64(len(i.content)), Uid: i.uid,
			Gid: i.uid, ModTime: at, Format: tar.FormatUSTAR,
		}
		if i.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, i.path+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(i.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return to.Bytes(), err
}
