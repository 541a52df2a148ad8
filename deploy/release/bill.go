package main

import (
	"context"
	"io"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// productModule is the module path of Pigeon.
const productModule = "github.com/pigeon-sched/pigeon"

// describe writes the licences and the bill of materials of a platform's program, the latter also
// next to the archives.
func (r *release) describe(ctx context.Context, p platform) error {
	list, err := modules(ctx, r.source, p)
	if err != nil {
		return err
	}
	all, err := allLicenses(list, r.settings)
	if err != nil {
		return err
	}
	if err := create(r.staged(p, "THIRD-PARTY-LICENSES"), func(w io.Writer) error { return writeThirdParty(w, all) }); err != nil {
		return err
	}
	sum, _, err := checksum(r.staged(p, "pigeon"))
	if err != nil {
		return err
	}
	bill := billOfMaterials(r.version, sum, r.time, all)
	for _, name := range []string{r.staged(p, "pigeon.cdx.json"), r.named(p, ".cdx.json")} {
		write := func(w io.Writer) error {
			return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6)
		}
		if err := create(name, write); err != nil {
			return err
		}
	}
	return nil
}

// billOfMaterials returns what a program with a checksum consists of, in the form of CycloneDX. Its
// number follows from the checksum.
func billOfMaterials(version, sum string, at time.Time, all []licensed) *cyclonedx.BOM {
	product := cyclonedx.Component{
		BOMRef: packageURL(productModule, "v"+version), Type: cyclonedx.ComponentTypeApplication, Name: "pigeon", Version: version,
		PackageURL: packageURL(productModule, "v"+version), Licenses: licenseChoices([]string{"Apache-2.0"}),
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
	}
	components, references := []cyclonedx.Component{}, []string{}
	dependencies := []cyclonedx.Dependency{{Ref: product.BOMRef, Dependencies: &references}}
	for _, l := range all {
		url := packageURL(l.Path, l.Version)
		c := cyclonedx.Component{
			BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: l.Path, Version: l.Version, PackageURL: url,
			Scope: cyclonedx.ScopeRequired, Licenses: licenseChoices(l.licenses),
		}
		if l.Sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "golang:sum", Value: l.Sum}}
		}
		components = append(components, c)
		references = append(references, url)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: url})
	}
	bill := cyclonedx.NewBOM()
	bill.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(product.PackageURL+"#"+sum)).URN()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &product}
	bill.Components, bill.Dependencies = &components, &dependencies
	return bill
}

func licenseChoices(ids []string) *cyclonedx.Licenses {
	var choices cyclonedx.Licenses
	for _, id := range ids {
		choices = append(choices, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &choices
}

// packageURL returns the name of a Go module as package-url has it.
func packageURL(module, version string) string {
	return "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B")
}
