# A model of R, evaluated over two hospitals: this writes one file per hospital, as write.csv does.
#
#   Rscript examples/r_user.R FOLDER
#   ppaurora check FOLDER/north.csv --score risk --label outcome --pos-label yes
#   ppaurora evaluate FOLDER/north.csv FOLDER/harbour.csv --score risk --label outcome --pos-label yes
#
# Row names, quotes and factors may stay as they are. 15 digits, of which write.csv makes do, may turn
# different scores into equal ones; that is a property of the file, and pROC on the file sees the same.
folder <- commandArgs(trailingOnly = TRUE)[1]
if (is.na(folder)) stop("usage: Rscript r_user.R FOLDER")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

model <- glm(case ~ spontaneous + induced + age, data = infert, family = binomial)
predictions <- data.frame(
  risk = predict(model, type = "response"),
  outcome = factor(infert$case == 1, levels = c(FALSE, TRUE), labels = c("no", "yes"))
)
at_north <- infert$stratum %% 3 != 0
write.csv(predictions[at_north, ], file.path(folder, "north.csv"))
write.csv(predictions[!at_north, ], file.path(folder, "harbour.csv"))
