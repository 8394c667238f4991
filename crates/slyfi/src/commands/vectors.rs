use super::print;
use crate::cli::VectorsCommand;
use slyfi_link::{Error, ErrorKind, Result};

/// `slyfi vectors check FILE`
pub fn run(command: &VectorsCommand) -> Result<()> {
    let VectorsCommand::Check { file } = command;
    let text = std::fs::read_to_string(file).map_err(|e| {
        let mend = "give the path of a file like vectors/slyfi_2008.json";
        Error::new(ErrorKind::Usage, format!("{}: {e}", file.display()), mend)
    })?;
    let checked = slyfi_core::vectors::check(&text)
        .map_err(|e| Error::new(ErrorKind::System, format!("{}: {e}", file.display()), ""))?;
    print(&format!(
        "{}: suite {}, {} vectors equal, {} twins refused\n",
        file.display(),
        checked.suite,
        checked.vectors,
        checked.twins
    ))
}
