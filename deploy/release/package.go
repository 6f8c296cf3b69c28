package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // Debian, Ubuntu
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // Fedora, SUSE
)

// scriptFiles has the package scripts.
//
//go:embed scripts
var scriptFiles embed.FS

const (
	licence    = "Apache-2.0"
	homepage   = "https://github.com/signalbox/signalbox"
	maintainer = "The Signalbox authors <authors@signalbox.invalid>"
)

// packageForm is a package format, with its system differences: folder names, and the package that provides useradd.
type packageForm struct {
	name      string
	zsh       string   // completion folder
	licences  string   // licence page name
	userTools []string // the packages with useradd
}

var packageForms = []packageForm{
	{name: "deb", zsh: "usr/share/zsh/vendor-completions", licences: "copyright", userTools: []string{"passwd"}},
	{name: "rpm", zsh: "usr/share/zsh/site-functions", licences: "LICENSE", userTools: []string{"shadow-utils"}},
}

// packages writes a product's packages in all formats, for every Linux processor type.
func (j *job) packages(p *product, builds []build) error {
	for _, b := range builds {
		if b.os != "linux" {
			continue
		}
		for _, form := range packageForms {
			name, text, err := j.makePackage(p, &b, &form)
			if err == nil {
				err = j.write(name, text)
			}
			if err != nil {
				return fmt.Errorf("%s for %s: %w", form.name, b.arch, err)
			}
		}
	}
	return nil
}

// makePackage makes a package, and returns the conventional name of the file. The packager takes files from a folder,
// so all contents are written to a temporary folder first; times and owners come from the job and not from the folder.
func (j *job) makePackage(p *product, b *build, form *packageForm) (name string, text []byte, err error) {
	staged, err := os.MkdirTemp(j.work, "package-")
	if err != nil {
		return "", nil, err
	}
	list, err := j.installed(p, b, form)
	if err != nil {
		return "", nil, err
	}
	info := &nfpm.Info{
		Name: p.name, Arch: b.arch, Platform: "linux", Version: j.version.number, Section: "net", Priority: "optional",
		Maintainer: maintainer, Description: strings.ToUpper(p.summary[:1]) + p.summary[1:], Homepage: homepage,
		License: licence, MTime: j.version.date,
		Overridables: nfpm.Overridables{
			RPM: nfpm.RPM{BuildHost: "localhost", Group: "Unspecified", Summary: p.summary},
		},
	}
	for _, i := range list {
		c, err := j.stage(staged, &i)
		if err != nil {
			return "", nil, err
		}
		info.Contents = append(info.Contents, c)
	}
	if info.Scripts, err = j.scripts(staged, p, b.shared.newestLevel); err != nil {
		return "", nil, err
	}
	if p.preinst != "" && form.name == "deb" {
		info.Deb.Predepends = form.userTools // the first script makes the user
	} else if p.preinst != "" {
		info.Depends = form.userTools
	}
	packager, err := nfpm.Get(form.name)
	if err != nil {
		return "", nil, err
	}
	info = nfpm.WithDefaults(info)
	var to bytes.Buffer
	err = packager.Package(info, &to)
	return packager.ConventionalFileName(info), to.Bytes(), err
}

// installed lists all files in a package. Settings below /etc/signalbox belong to the host's group and are closed to
// other users, because settings name certificates and keys.
func (j *job) installed(p *product, b *build, form *packageForm) ([]item, error) {
	unit, err := j.unit(p)
	if err != nil {
		return nil, err
	}
	pages, err := j.pages()
	if err != nil {
		return nil, err
	}
	list := []item{
		{path: "usr/bin/" + p.name, mode: 0o755, content: b.binary},
		{path: "usr/lib/systemd/system/" + p.name + ".service", mode: 0o644, content: unit},
		{path: docs(p.name, "third-party-licences.txt"), mode: 0o644, content: b.shared.licences},
	}
	for _, page := range pages {
		if page.path == "LICENSE" {
			page.path = form.licences
		}
		page.path = docs(p.name, page.path)
		list = append(list, page)
	}
	for _, c := range b.shared.completions {
		c.path = map[string]string{
			"bash": "usr/share/bash-completion/completions/" + p.name,
			"zsh":  path.Join(form.zsh, "_"+p.name),
			"fish": "usr/share/fish/vendor_completions.d/" + p.name + ".fish",
		}[c.path]
		list = append(list, c)
	}
	for _, f := range p.files {
		text, err := os.ReadFile(filepath.Join(j.root, f.source))
		if err != nil {
			return nil, err
		}
		i := item{path: f.path, mode: f.mode, content: text, settings: f.settings}
		if strings.HasPrefix(f.path, "etc/signalbox/") {
			i.group = hostGroup
			list = append(list, item{path: path.Dir(f.path), mode: fs.ModeDir | 0o750, group: hostGroup})
		}
		list = append(list, i)
	}
	return list, nil
}

// stage writes an item into a folder for the packager, and returns the description with owner, mode and time.
func (j *job) stage(staged string, i *item) (*files.Content, error) {
	c := &files.Content{
		Destination: "/" + i.path,
		FileInfo:    &files.ContentFileInfo{Owner: "root", Group: "root", Mode: i.mode.Perm(), MTime: j.version.date},
	}
	if i.group != "" {
		c.FileInfo.Group = i.group
	}
	if i.mode.IsDir() {
		c.Type = files.TypeDir
		return c, nil
	}
	if i.settings {
		c.Type = files.TypeConfigNoReplace
	}
	c.Source = filepath.Join(staged, filepath.FromSlash(i.path))
	if err := os.MkdirAll(filepath.Dir(c.Source), 0o755); err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.Source, i.content, 0o644)
}

// scripts are run by installers before and after files are put in place or removed. Both forms share the scripts: dpkg
// and rpm call scripts with different words, and the first lines of every script sort the words.
func (j *job) scripts(staged string, p *product, newestLevel int) (s nfpm.Scripts, err error) {
	fill := strings.NewReplacer("@NAME@", p.name, "@NEWEST_LEVEL@", fmt.Sprint(newestLevel))
	for name, to := range map[string]*string{
		p.preinst: &s.PreInstall, p.postinst: &s.PostInstall, "prerm": &s.PreRemove, "postrm": &s.PostRemove,
	} {
		if name == "" {
			continue
		}
		text, err := scriptFiles.ReadFile(path.Join("scripts", name))
		if err != nil {
			return s, err
		}
		*to = filepath.Join(staged, name)
		if err := os.WriteFile(*to, []byte(fill.Replace(string(text))), 0o755); err != nil {
			return s, err
		}
	}
	return s, nil
}
